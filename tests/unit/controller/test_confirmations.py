"""Decisions that rest on a stale cache: the kit asks the server before it creates, takes over or deletes a child."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masthead
import masthead.aio
from masthead import Patch
from masthead._controller.freshness import is_current
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap
from masthead.meta import Struct, controller_of, set_controller
from masthead.testing import BlockingEnvironment, Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead.meta import Object

WITHOUT_COLLECTOR = {"controllers": False, "watch_list": False}  # a silent watch-list would never end
FINALIZER = "example.com/bucket"


class SiteSpec(Struct):
    """What a site wants."""

    public: bool = False
    size: int = 1


class SiteStatus(Struct):
    """How it is."""

    phase: str = ""


class Site(masthead.CustomResource, group="example.com", version="v1"):
    """An owner with a generation."""

    spec: SiteSpec
    status: SiteStatus


class Operator:
    """An operator that acts on a signal, with whatever its caches show then.

    Args:
        action: The action of its reconcile.

    Attributes:
        results: The results of the action.
    """

    def __init__(self, action: Callable[[masthead.aio.ReconcileContext[Site], Site], Awaitable[object]]) -> None:
        self.results: list[object] = []
        self._may_act = False
        self.app = masthead.Manager("operator")

        @self.app.controller(Site, owns=[ConfigMap, Deployment], finalizer=FINALIZER)
        async def reconcile(ctx: masthead.aio.ReconcileContext[Site], site: Site) -> masthead.controller.Result | None:
            if not self._may_act:
                return masthead.controller.Result(requeue_after=1)
            self.results.append(await action(ctx, site))
            return None

    async def start(self, env: Environment, *stale: str) -> None:
        """Start with caches of some resources that show no change after their first state."""
        for resource in stale:
            env.server.faults.silence_watch(resource=resource)
        await env.start(self.app)
        await env.advance(2)

    async def act(self, env: Environment) -> None:
        """Let the operator act, and wait for it."""
        env.clear()
        self._may_act = True
        await env.advance(2)


def environment() -> Environment:
    return Environment(crds=[Site], server_options=WITHOUT_COLLECTOR)


async def create_site(env: Environment, *finalizers: str) -> Site:
    site = Site.new("shop", spec={"public": False})
    site.metadata.finalizers = list(finalizers)
    return await env.client.resource(Site, "default").create(site)


async def create_child(env: Environment, owner: Object) -> ConfigMap:
    child = ConfigMap.new("child", namespace="default", data={"owner": owner.metadata.uid})
    set_controller(child, owner)
    return await env.client.core_v1.config_maps("default").apply(child, field_manager="sites", force=True)


async def change_site(env: Environment, change: str) -> None:
    """Change the site on the server."""
    sites = env.client.resource(Site, "default")
    match change:
        case "spec":
            await sites.patch("shop", Patch.merge({"spec": {"public": True}}))
        case "deletion":
            await sites.delete("shop")
        case "recreation":
            await sites.patch("shop", Patch.merge({"metadata": {"finalizers": []}}))
            await sites.delete("shop")
            await sites.create(Site.new("shop", spec={"public": True}))
        case "status":
            await sites.patch_status("shop", Patch.merge({"status": {"phase": "Up"}}))
        case "labels":
            await sites.patch("shop", Patch.merge({"metadata": {"labels": {"tier": "gold"}}}))
        case _:
            raise AssertionError(change)


async def delete_unless_public(ctx: masthead.aio.ReconcileContext[Site], site: Site) -> None:
    child = await ctx.get(ConfigMap, "child")
    if child is not None and not site.spec.public:
        await ctx.delete(child)


DECISIVE = pytest.mark.parametrize("change", ["spec", "deletion", "recreation"])
HARMLESS = pytest.mark.parametrize("change", ["status", "labels"])


@DECISIVE
@in_virtual_time
async def test_a_stale_spec_deletes_no_child_that_the_current_one_wants(change: str) -> None:
    operator = Operator(delete_unless_public)
    async with environment() as env:
        child = await create_child(env, await create_site(env, "example.com/other"))
        await operator.start(env, "sites")
        await change_site(env, change)
        await operator.act(env)
        assert env.writes == []
        (failure,) = env.failures
        assert "StaleObjectError" in failure
        assert "ConfigMap default/child is not deleted" in failure
        maps = env.client.core_v1.config_maps("default")
        assert (await maps.get("child")).metadata.uid == child.metadata.uid
        if change == "spec":
            await env.advance(300)  # the cache catches up, and there is nothing to delete
            assert env.failures == []
            assert (await maps.get("child")).metadata.uid == child.metadata.uid


@HARMLESS
@in_virtual_time
async def test_changes_of_status_and_labels_do_not_keep_a_child_from_its_deletion(change: str) -> None:
    operator = Operator(delete_unless_public)
    async with environment() as env:
        await create_child(env, await create_site(env))
        await operator.start(env, "sites")
        await change_site(env, change)
        await operator.act(env)
        assert env.writes == ["delete configmaps default/child"]


@in_virtual_time
async def test_a_deletion_costs_one_read_of_the_reconciled_object() -> None:
    operator = Operator(delete_unless_public)
    async with environment() as env:
        await create_child(env, await create_site(env))
        await operator.start(env)
        before = len(env.server.requests)
        await operator.act(env)
        requests = [
            request for request in list(env.server.requests)[before:] if request.info.verb not in {"watch", "list"}
        ]
        assert [(request.info.verb, request.info.resource) for request in requests] == [
            ("get", "sites"),
            ("delete", "configmaps"),
        ]


@in_virtual_time
async def test_a_child_that_has_changed_since_it_was_cached_is_deleted_when_the_cache_shows_the_change() -> None:
    operator = Operator(delete_unless_public)
    async with environment() as env:
        await create_child(env, await create_site(env))
        await operator.start(env, "configmaps")
        maps = env.client.core_v1.config_maps("default")
        await maps.patch("child", Patch.merge({"data": {"more": "1"}}))
        await operator.act(env)
        assert {write.code for write in env.writes} == {409}
        assert "StaleObjectError: ConfigMap default/child has changed" in env.failures[0]
        await env.advance(300)
        assert env.failures == []
        assert not await maps.list(field_selector="metadata.name=child")


@in_virtual_time
async def test_a_child_whose_status_alone_has_changed_is_deleted() -> None:
    async def delete(ctx: masthead.aio.ReconcileContext[Site], _: Site) -> None:
        child = await ctx.get(Deployment, "web")
        assert child is not None
        await ctx.delete(child)

    operator = Operator(delete)
    async with environment() as env:
        labels = {"app": "web"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}
        web = Deployment.new(
            "web", namespace="default", spec={"selector": {"matchLabels": labels}, "template": template}
        )
        set_controller(web, await create_site(env))
        deployments = env.client.apps_v1.deployments("default")
        await deployments.create(web)
        await operator.start(env, "deployments")
        await deployments.patch_status("web", Patch.merge({"status": {"replicas": 1}}))
        await operator.act(env)
        assert [write.code for write in env.writes] == [409, 200]
        assert not await deployments.list()


@pytest.mark.parametrize("case", ["new child", "new object without an owner", "shared object"])
@DECISIVE
@in_virtual_time
async def test_a_stale_object_applies_nothing_that_would_outlive_it(change: str, case: str) -> None:
    async def apply(ctx: masthead.aio.ReconcileContext[Site], site: Site) -> None:
        await ctx.apply(ConfigMap.new("child", data={site.metadata.name: ""}), owned=case == "new child")

    operator = Operator(apply)
    async with environment() as env:
        if case == "shared object":
            await env.client.core_v1.config_maps("default").create(ConfigMap.new("child"))
        await create_site(env, "example.com/other")
        await operator.start(env, "sites")
        await change_site(env, change)
        await operator.act(env)
        assert env.writes == []
        assert "StaleObjectError" in env.failures[0]


@pytest.mark.parametrize("stale", ["nothing", "sites", "configmaps", "sites and configmaps"])
@pytest.mark.parametrize("is_recreated", [False, True], ids=["child taken over", "child recreated"])
@pytest.mark.parametrize("verb", ["apply", "delete", "recreate"])
@in_virtual_time
async def test_no_stale_cache_takes_a_child_from_the_living_owner(verb: str, stale: str, *, is_recreated: bool) -> None:
    async def act(ctx: masthead.aio.ReconcileContext[Site], site: Site) -> None:
        # Only the first site deletes: a current cache shows its successor.
        if verb != "apply" and not site.spec.public and (child := await ctx.get(ConfigMap, "child")) is not None:
            await ctx.delete(child)
        if verb != "delete":
            await ctx.apply(ConfigMap.new("child", data={"owner": site.metadata.uid}))

    operator = Operator(act)
    async with environment() as env:
        await create_child(env, await create_site(env))
        await operator.start(env, *(resource for resource in stale.split(" and ") if resource != "nothing"))
        await change_site(env, "recreation")
        maps = env.client.core_v1.config_maps("default")
        if is_recreated:
            await maps.delete("child")
        second = await env.client.resource(Site, "default").get("shop")
        wanted = await create_child(env, second)
        await operator.act(env)
        _ = env.failures
        for _ in range(2):  # at first, and when the caches have caught up
            found = await maps.get("child")
            owner = controller_of(found)
            assert owner is not None
            assert owner.uid == second.metadata.uid == found.data["owner"]
            assert found.metadata.uid == wanted.metadata.uid
            await env.advance(300)
        assert env.failures == []


@in_virtual_time
async def test_a_cache_without_a_child_takes_it_from_no_other_owner() -> None:
    async def apply(ctx: masthead.aio.ReconcileContext[Site], site: Site) -> None:
        if site.metadata.name == "shop":
            await ctx.apply(ConfigMap.new("child", data={"owner": site.metadata.uid}))

    operator = Operator(apply)
    async with environment() as env:
        await create_site(env)
        await operator.start(env, "configmaps")
        other = await env.client.resource(Site, "default").create(Site.new("other", spec={}))
        await create_child(env, other)
        await operator.act(env)
        assert env.writes == []
        assert "AlreadyControlledError: ConfigMap default/child is already controlled by Site other" in env.failures[0]


@pytest.mark.parametrize("change", ["status", "finalizer"])
@in_virtual_time
async def test_a_successor_gets_neither_the_status_nor_the_finalizer_of_its_predecessor(change: str) -> None:
    async def write(ctx: masthead.aio.ReconcileContext[Site], _: Site) -> bool:
        if change == "status":
            return await ctx.update_status({"phase": "Up"})
        return await ctx.finalize(lambda: None)

    operator = Operator(write)
    async with environment() as env:
        await create_site(env)
        await operator.start(env, "sites")
        await change_site(env, "recreation")
        await operator.act(env)
        # The uid of the patch does not fit, and neither does that of the object that is read again.
        assert [write.code for write in env.writes] == [409]
        assert operator.results == [change == "finalizer"]
        site = await env.client.resource(Site, "default").get("shop")
        assert (site.status.phase, site.metadata.finalizers) == ("", [])


@in_virtual_time
async def test_a_cleanup_waits_for_the_current_spec() -> None:
    sizes: list[int] = []

    async def finalize(ctx: masthead.aio.ReconcileContext[Site], site: Site) -> bool:
        return await ctx.finalize(lambda: sizes.append(site.spec.size))

    operator = Operator(finalize)
    async with environment() as env:
        await create_site(env, FINALIZER)
        sites = env.client.resource(Site, "default")
        await sites.delete("shop")
        await operator.start(env, "sites")
        await sites.patch("shop", Patch.merge({"spec": {"size": 5}}))  # possible until the last finalizer is removed
        await operator.act(env)
        assert (sizes, env.writes) == ([], [])
        assert "default/shop is being deleted, and was changed" in env.failures[0]
        await env.advance(300)
        assert sizes == [5]
        assert not await sites.list()


@in_virtual_time
async def test_a_cleanup_may_delete_children() -> None:
    async def finalize(ctx: masthead.aio.ReconcileContext[Site], _: Site) -> bool:
        async def clean_up() -> None:
            child = await ctx.get(ConfigMap, "child")
            if child is not None:
                await ctx.delete(child)

        return await ctx.finalize(clean_up)

    operator = Operator(finalize)
    async with environment() as env:
        await create_child(env, await create_site(env, FINALIZER))
        await env.client.resource(Site, "default").delete("shop")
        await operator.start(env)
        await operator.act(env)
        assert env.writes == ["delete configmaps default/child", "patch sites.example.com default/shop"]
        assert operator.results == [True]


@pytest.mark.parametrize("is_versioned", [True, False], ids=["with a version", "without a version"])
@in_virtual_time
async def test_an_own_change_of_the_spec_is_no_surprise_if_it_names_the_version(*, is_versioned: bool) -> None:
    async def change_and_delete(ctx: masthead.aio.ReconcileContext[Site], site: Site) -> bool:
        metadata = {"resourceVersion": site.metadata.resource_version} if is_versioned else {}
        patch = Patch.merge({"metadata": metadata, "spec": {"size": 2}})
        if site.spec.size != 2:
            await ctx.client.resource(Site, "default").patch("shop", patch)
        return await ctx.confirm()

    operator = Operator(change_and_delete)
    async with environment() as env:
        await create_site(env)
        await operator.start(env)
        await operator.act(env)
        assert operator.results == [is_versioned, True]


def test_confirm_of_a_thread_compares_the_generation() -> None:
    app = masthead.Manager("threads")
    answers: list[bool] = []

    @app.controller(Site)
    def reconcile(ctx: masthead.ReconcileContext[Site], site: Site) -> None:
        if not site.spec.public:  # as another client does between the read of the cache and the decision
            user.resource(Site, "default").patch("shop", Patch.merge({"spec": {"public": True}}))
        answers.append(ctx.confirm())

    with BlockingEnvironment(app) as env, masthead.Client(env.config) as user:
        env.client.resource(Site, "default").create(Site.new("shop", spec={}))
        env.wait_for_idle()
    assert answers == [False, True]


def site_at(uid: str, version: str, generation: int, *, is_deleting: bool) -> Site:
    site = Site.new("shop")
    metadata = {"name": "shop", "uid": uid, "resourceVersion": version, "generation": generation}
    plain = {**site.to_dict(), "metadata": {**metadata, **({"deletionTimestamp": NOON} if is_deleting else {})}}
    return Site.from_dict(plain)


NOON = "2026-01-01T12:00:00Z"
STATES = st.tuples(st.sampled_from("ab"), st.sampled_from(["1", "2"]), st.integers(0, 2), st.booleans())


@given(STATES, STATES)
def test_an_object_is_current_if_uid_deletion_and_generation_are(
    one: tuple[str, str, int, bool], other: tuple[str, str, int, bool]
) -> None:
    cached, live = (
        site_at(uid, version, generation, is_deleting=is_deleting)
        for uid, version, generation, is_deleting in (one, other)
    )
    is_same_spec = one[2] == other[2] if one[2] and other[2] else one[1] == other[1]
    assert is_current(cached, live) is ((one[0], one[3]) == (other[0], other[3]) and is_same_spec)
    assert not is_current(cached, None)
    assert not is_current(None, live)
    assert is_current(None, None)
