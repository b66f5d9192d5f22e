"""Reconciles of a deleted object that is still cached: they take nothing from its successor."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead import Patch
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import controller_of, set_controller
from masthead.testing import BlockingEnvironment, Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from masthead.meta import Object

KINDS = pytest.mark.parametrize("owns", [(ConfigMap,), ()], ids=["cached", "not cached"])
NO_CONTROLLERS = {
    "controllers": False,
    "watch_list": False,
}  # nothing collects garbage, and lists may be stale


def owning(owns: Sequence[type[Object]] = (ConfigMap,)) -> masthead.Manager:
    app = masthead.Manager("owning")

    @app.controller(Secret, owns=owns)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new("child", data={"size": str(len(secret.data))}))

    return app


async def start_silently(env: Environment, app: masthead.Manager, resource: str = "secrets") -> None:
    """Start a replica whose cache of a resource does not change after its first state."""
    env.server.faults.silence_watch(resource=resource)
    await env.start(app)
    await env.advance(2)


async def recreate(env: Environment, name: str = "owner") -> Secret:
    secrets = env.client.core_v1.secrets("default")
    await secrets.delete(name)
    return await secrets.create(Secret.new(name))


async def owner_of_child(env: Environment) -> str:
    found = controller_of(await env.client.core_v1.config_maps("default").get("child"))
    return "" if found is None else found.uid


async def take_child(env: Environment, owner: Secret) -> None:
    """Make an owner the controller of the child, as another replica of the operator does."""
    child = ConfigMap.new("child", namespace="default", data={"size": "0"})
    set_controller(child, owner)
    await env.client.core_v1.config_maps("default").apply(child, field_manager="secrets", force=True)


@KINDS
@in_virtual_time
async def test_a_restart_on_a_stale_list_does_not_take_over_a_child(
    owns: Sequence[type[Object]],
) -> None:
    async with Environment(server_options=NO_CONTROLLERS) as env:
        first = await env.client.core_v1.secrets("default").create(Secret.new("owner"))
        second = await recreate(env)
        await take_child(env, second)
        newest = (await env.client.core_v1.config_maps("default").get("child")).metadata.resource_version
        behind = int(newest) - int(first.metadata.resource_version)
        env.server.faults.stale_lists(behind, resource="secrets", times=1)
        await start_silently(env, owning(owns))
        # Nothing is reconciled before the cache has caught up with the server.
        assert (env.writes, env.failures) == ([], [])
        await env.advance(300)
        assert await owner_of_child(env) == second.metadata.uid
        assert (env.writes, env.failures) == ([], [])


@KINDS
@in_virtual_time
async def test_a_replica_with_a_silent_watch_does_not_fight_for_a_child(owns: Sequence[type[Object]]) -> None:
    async with Environment(server_options=NO_CONTROLLERS) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("owner"))
        await start_silently(env, owning(owns))
        second = await recreate(env)
        env.clear()
        await take_child(env, second)
        await env.start(owning(owns))
        await env.advance(10)
        assert await owner_of_child(env) == second.metadata.uid
        assert env.writes == []
        assert all("StaleObjectError" in failure for failure in env.failures)


@in_virtual_time
async def test_a_stale_owner_asks_less_and_less_often(caplog: pytest.LogCaptureFixture) -> None:
    async with Environment(server_options=NO_CONTROLLERS) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("owner"))
        await start_silently(env, owning())
        second = await recreate(env)
        await take_child(env, second)
        await env.advance(10)
        asked = [
            request for request in env.server.requests if request.info.verb == "get" and request.info.name == "owner"
        ]
        assert 5 < len(asked) < 20
        (failure,) = env.failures
        assert "StaleObjectError: default/owner was changed, deleted or recreated" in failure
        await env.advance(300)  # the cache has caught up
        assert env.failures == []
        assert await owner_of_child(env) == second.metadata.uid
        assert not [record for record in caplog.records if record.levelname == "ERROR"]


@KINDS
@in_virtual_time
async def test_no_child_is_created_for_an_object_that_is_gone(owns: Sequence[type[Object]]) -> None:
    app = masthead.Manager("late")

    @app.controller(Secret, owns=owns)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        if ctx.attempt == 0:
            await ctx.client.core_v1.secrets("default").delete(secret.metadata.name)
        await ctx.apply(ConfigMap.new("child"))

    async with Environment(app, server_options=NO_CONTROLLERS) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("owner"))
        await env.wait_for_idle()
        assert env.writes == ["delete secrets default/owner"]
        assert env.failures == []  # the cache has caught up


class Operator:
    """An operator that acts once, on a signal, possibly with a stale cache.

    Args:
        action: The action of its reconcile.

    Attributes:
        may_act: Whether to act.
        results: The results of the action.
    """

    def __init__(self, action: Callable[[masthead.aio.ReconcileContext[Secret], Secret], Awaitable[object]]) -> None:
        self.may_act = False
        self.results: list[object] = []
        self.app = masthead.Manager("operator")

        @self.app.controller(Secret, owns=[ConfigMap], finalizer="example.com/bucket")
        async def reconcile(
            ctx: masthead.aio.ReconcileContext[Secret], secret: Secret
        ) -> masthead.controller.Result | None:
            if not self.may_act:
                return masthead.controller.Result(requeue_after=1)
            self.results.append(await action(ctx, secret))
            return None

    async def act(self, env: Environment) -> None:
        """Let the operator act, and wait for it."""
        env.clear()
        self.may_act = True
        await env.advance(2)


def guarded(name: str) -> Secret:
    """An object with the finalizer of the operator."""
    secret = Secret.new(name)
    secret.metadata.finalizers = ["example.com/bucket"]
    return secret


async def with_child(env: Environment) -> Secret:
    """Create an owner with a child."""
    first = await env.client.core_v1.secrets("default").create(Secret.new("owner"))
    await take_child(env, first)
    return first


@in_virtual_time
async def test_a_child_with_a_new_owner_is_not_taken_over() -> None:
    async def apply(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await ctx.apply(ConfigMap.new("child", data={"owner": secret.metadata.uid}))

    operator = Operator(apply)
    async with Environment(server_options=NO_CONTROLLERS) as env:
        await with_child(env)
        env.server.faults.silence_watch(resource="configmaps")
        await start_silently(env, operator.app)
        second = await recreate(env)
        await take_child(env, second)
        await operator.act(env)
        # The cache shows the old owner with its child, so that each attempt is a conflict; they become less frequent.
        assert {write.code for write in env.writes} == {409}
        assert len(env.writes) < 10
        assert await owner_of_child(env) == second.metadata.uid
        assert "StaleObjectError" in env.failures[0]


@pytest.mark.parametrize("is_named", [False, True], ids=["as cached", "by name"])
@pytest.mark.parametrize("sees_child", [False, True], ids=["child is stale", "child is current"])
@in_virtual_time
async def test_a_stale_owner_deletes_no_child_of_its_successor(*, is_named: bool, sees_child: bool) -> None:
    async def delete(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        child = await ctx.get(ConfigMap, "child")
        assert child is not None
        await ctx.delete(ConfigMap.new("child", namespace="default") if is_named else child)

    operator = Operator(delete)
    async with Environment(server_options=NO_CONTROLLERS) as env:
        await with_child(env)
        if not sees_child:
            env.server.faults.silence_watch(resource="configmaps")
        await start_silently(env, operator.app)
        second = await recreate(env)
        await take_child(env, second)
        await operator.act(env)
        assert await owner_of_child(env) == second.metadata.uid
        (failure,) = env.failures
        assert "StaleObjectError: the reconciled object was changed, deleted or recreated" in failure
        assert env.writes == []


@in_virtual_time
async def test_a_cleanup_does_not_run_for_a_successor() -> None:
    cleaned: list[str] = []

    async def finalize(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> bool:
        return await ctx.finalize(lambda: cleaned.append(secret.metadata.name))

    operator = Operator(finalize)
    async with Environment(server_options=NO_CONTROLLERS) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(guarded("owner"))
        await secrets.delete("owner")  # waits for the finalizer
        await start_silently(env, operator.app)
        # Another replica has cleaned up, and the object was created again.
        await secrets.patch("owner", Patch.merge({"metadata": {"finalizers": []}}))
        await secrets.create(Secret.new("owner"))
        await operator.act(env)
        assert operator.results == [True]  # there is nothing more to reconcile
        assert cleaned == []
        assert env.writes == []


@in_virtual_time
async def test_confirm_asks_the_server_for_the_object() -> None:
    async def confirm(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> tuple[bool, bool]:
        is_finalized = await ctx.finalize(lambda: None)
        return is_finalized, await ctx.confirm()

    async with Environment(server_options=NO_CONTROLLERS) as env:
        secrets = env.client.core_v1.secrets("default")
        names = ("alive", "deleted", "recreated", "deleting")
        for name in names:
            await secrets.create(guarded(name))
        operator = Operator(confirm)
        await start_silently(env, operator.app)
        for name in ("deleted", "recreated"):
            await secrets.delete(name)
            await secrets.patch(name, Patch.merge({"metadata": {"finalizers": []}}))
        await secrets.create(Secret.new("recreated"))
        await secrets.delete("deleting")
        await operator.act(env)
        # For the cache, all are alive and have their finalizer.
        assert Counter(operator.results) == {(False, True): 1, (False, False): 3}
        assert env.writes == []


def test_confirm_works_in_a_thread_and_for_a_deleted_object() -> None:
    answers: list[tuple[bool, bool]] = []
    app = masthead.Manager("threads")

    @app.controller(Secret)
    def reconcile(ctx: masthead.ReconcileContext[Secret], secret: Secret | None) -> None:
        answers.append((secret is None, ctx.confirm()))

    with BlockingEnvironment(app) as env:
        secrets = env.client.core_v1.secrets("default")
        secrets.create(Secret.new("owner"))
        env.wait_for_idle()
        secrets.delete("owner")
        env.wait_for_idle()
    assert answers == [(False, True), (True, True)]


@in_virtual_time
async def test_confirm_detects_that_a_missing_object_was_recreated() -> None:
    answers: list[bool] = []
    app = masthead.Manager("missing")

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret | None) -> None:
        if secret is None:
            await ctx.client.core_v1.secrets("default").create(Secret.new("owner"))
            answers.append(await ctx.confirm())

    async with Environment(app, server_options=NO_CONTROLLERS) as env:
        secrets = env.client.core_v1.secrets("default")
        await secrets.create(Secret.new("owner"))
        await env.wait_for_idle()
        await secrets.delete("owner")
        await env.wait_for_idle()
    assert answers == [False]


@in_virtual_time
async def test_apply_raises_after_a_write_has_found_a_deletion() -> None:
    app = masthead.Manager("late")

    @app.controller(Secret, owns=[ConfigMap], finalizer="example.com/bucket")
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        if ctx.attempt == 0:
            await ctx.client.core_v1.secrets("default").delete(secret.metadata.name)
        assert await ctx.finalize(lambda: None)
        await ctx.apply(ConfigMap.new("child"))

    async with Environment(app, server_options=NO_CONTROLLERS) as env:
        await env.client.core_v1.secrets("default").create(Secret.new("owner"))
        await env.wait_for_idle()
        assert [str(write) for write in env.writes if write.code < 400] == ["delete secrets default/owner"]
        assert env.failures == []
