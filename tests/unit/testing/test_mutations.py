"""Tests fail if their controllers change what a cache shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment, UnexpectedFailureError, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Reconcile = Callable[[masthead.aio.ReconcileContext[Secret], Secret], Awaitable[None]]

pytest_plugins = ["pytester"]

OBJECTS = [Secret.new("a", namespace="default"), ConfigMap.new("m", namespace="default")]


def manager(reconcile: Reconcile) -> masthead.Manager:
    app = masthead.Manager("careless")
    app.controller(Secret, reads=[ConfigMap])(reconcile)
    return app


async def change(_ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
    secret.metadata.labels["seen"] = "yes"


async def change_and_update(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
    if "seen" not in secret.metadata.labels:
        secret.metadata.labels["seen"] = "yes"
        await ctx.client.core_v1.secrets("default").update(secret)


async def change_and_delete(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
    secret.metadata.labels["seen"] = "yes"
    await ctx.client.core_v1.secrets("default").delete(secret.metadata.name)


async def change_both(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
    await change(ctx, secret)
    await change_another(ctx, secret)


async def change_another(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
    found = await ctx.get(ConfigMap, "m")
    assert found is not None
    found.data["seen"] = "yes"


async def change_another_and_delete_it(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
    if await ctx.get(ConfigMap, "m") is not None:
        await change_another(ctx, secret)
        await ctx.client.core_v1.config_maps("default").delete("m")


MUTATING = {
    change: "secrets default/a in the cache: MutationError: the reconcile changed metadata.labels.seen of its object",
    change_and_update: "secrets default/a in the cache: MutationError: the reconcile changed metadata.labels.seen",
    change_and_delete: "secrets default/a in the cache: MutationError: the reconcile changed metadata.labels.seen",
    change_another: "cache of configmaps: objects of a cache were changed: default/m (data.seen)",
    change_another_and_delete_it: "cache of configmaps: objects of a cache were changed: default/m (data.seen)",
}


@pytest.mark.parametrize(("reconcile", "failure"), MUTATING.items())
@pytest.mark.parametrize("is_read", [False, True])
def test_a_reconcile_that_changes_a_cached_object_fails_the_test(
    reconcile: Reconcile, failure: str, is_read: bool
) -> None:
    @in_virtual_time
    async def play() -> None:
        async with Environment(manager(reconcile), objects=OBJECTS) as env:
            await env.wait_for_idle()
            if is_read:
                (found,) = env.failures
                assert found.startswith(failure)

    if is_read:
        play()
        return
    with pytest.raises(UnexpectedFailureError) as caught:
        play()
    (found,) = caught.value.failures
    assert found.startswith(failure)


@in_virtual_time
async def test_changes_of_other_objects_are_reported_beside_those_of_the_reconciled_one() -> None:
    async with Environment(manager(change_both), objects=OBJECTS) as env:
        await env.wait_for_idle()
        own, other = env.failures
    assert own.startswith("secrets default/a in the cache")
    assert other.startswith("cache of configmaps")


@in_virtual_time
async def test_a_reconcile_may_change_a_copy() -> None:
    async def change_a_copy(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        await change_and_update(ctx, secret.copy())

    async with Environment(manager(change_a_copy), objects=OBJECTS) as env:
        await env.wait_for_idle()
        assert env.writes == ["update secrets default/a"]


@in_virtual_time
async def test_the_detector_can_be_turned_off() -> None:
    async with Environment(manager(change), objects=OBJECTS, detect_mutations=False) as env:
        await env.wait_for_idle()


INFORMER = """
import masthead
from masthead.api.core.v1 import ConfigMap

def test_it({fixture}):
    {client}
    maps = client.core_v1.config_maps("default")
    maps.create(ConfigMap.new("a", data={{"x": "1"}}))
    informer = masthead.SharedInformer(maps)
    informer.start()
    informer.wait_for_cache_sync(timeout=30)
    informer.lister.list()[0].data["x"] = "2"
    {end}
"""


@pytest.mark.parametrize(
    ("fixture", "client"),
    [
        ("kube_client", "client = kube_client"),
        ("kube_namespace, shared_kube_client", "client = shared_kube_client"),
    ],
)
@pytest.mark.parametrize(("end", "outcome"), [("pass", {"passed": 1, "errors": 1}), ("informer.stop()", {"failed": 1})])
def test_an_informer_of_a_test_with_fixtures_detects_changes(
    pytester: pytest.Pytester, fixture: str, client: str, end: str, outcome: dict[str, int]
) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(INFORMER.format(fixture=fixture, client=client, end=end))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(**outcome)
    result.stdout.fnmatch_lines(["*MutationError*(data.x)*"])
