"""Workers start when the caches show the state of the server, including all writes of their predecessors."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import set_controller
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from masthead.aio import ReconcileContext

NAMES = [f"parent-{number}" for number in range(10)]


def parent(name: str) -> ConfigMap:
    return ConfigMap.new(name, namespace="default", labels={"test": "1"})


async def create_parents(env: Environment) -> None:
    """Create the parents, and wait for their children."""
    for name in NAMES:
        await env.client.core_v1.config_maps("default").create(parent(name))
    await env.advance(2)
    assert await children(env) == dict.fromkeys(NAMES, 1)


def add_parents(app: masthead.Manager) -> None:
    """Add a controller that creates a child with a random name for every parent without a cached child."""

    @app.controller(ConfigMap, label_selector="test=1", owns=[Secret])
    async def reconcile(ctx: ReconcileContext[ConfigMap], parent: ConfigMap) -> None:
        if not await ctx.owned(Secret):
            child = Secret.new("", namespace="default")
            child.metadata.generate_name = f"{parent.metadata.name}-"
            set_controller(child, parent)
            await ctx.client.core_v1.secrets("default").create(child)


async def children(env: Environment) -> Counter[str]:
    secrets = await env.client.core_v1.secrets("default").list()
    return Counter(secret.metadata.owner_references[0].name for secret in secrets)


@in_virtual_time
async def test_a_new_leader_waits_for_caches_that_lag(caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("parents", leader_election="parents")
    add_parents(app)
    async with Environment() as env:
        first = await env.start(app, "first")
        await env.wait_for_idle()
        env.server.faults.silence_watch(after=1, resource="secrets")
        second = await env.start(app, "second")
        await env.advance(1)
        await create_parents(env)
        await first.stop()
        await env.advance(5)
        assert second.runtime.pending_work() == [
            "controller configmaps has not started; it waits for secrets (not caught up with the server)"
        ]
        # Sooner than a silent connection is noticed.
        await env.advance(15)
        assert second.runtime.is_idle
        assert await children(env) == dict.fromkeys(NAMES, 1)
    assert "the cache of secrets is at version" in caplog.text


@in_virtual_time
async def test_a_cache_that_stays_late_is_listed_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("parents", leader_election="parents")
    add_parents(app)
    async with Environment() as env:
        first = await env.start(app, "first")
        await env.wait_for_idle()
        env.server.faults.silence_watch(after=1, resource="secrets")
        second = await env.start(app, "second")
        await env.advance(1)
        await create_parents(env)
        env.server.faults.silence_watch(resource="secrets")
        await first.stop()
        await env.advance(45)
        assert second.runtime.is_idle
        assert await children(env) == dict.fromkeys(NAMES, 1)
    assert [message.rpartition("It is ")[2] for message in caplog.messages if "caught up" in message] == [
        "watched anew.",
        "listed again.",
    ]


@pytest.mark.slow
@in_virtual_time
async def test_a_replica_waits_for_late_caches_before_it_reconciles_adopted_objects() -> None:
    app = masthead.Manager("parents", sharding="parents")
    add_parents(app)
    async with Environment() as env:
        first = await env.start(app, "first")
        await env.wait_for_idle()
        env.server.faults.silence_watch(after=1, resource="secrets")
        second = await env.start(app, "second")
        await env.advance(10)
        await create_parents(env)
        await first.stop()
        await env.advance(5)
        assert second.runtime.pending_work()
        await env.advance(300)
        assert second.runtime.is_idle
        assert await children(env) == dict.fromkeys(NAMES, 1)
        await env.client.core_v1.config_maps("default").create(parent("late"))
        await env.wait_for_idle()
        assert (await children(env))["late"] == 1


@pytest.mark.parametrize("replicas", [{}, {"leader_election": "parents"}])
@in_virtual_time
async def test_nothing_is_reconciled_without_a_response_of_the_server(
    replicas: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = masthead.Manager("parents", **replicas)
    add_parents(app)
    async with Environment() as env:
        for name in NAMES:
            await env.client.core_v1.config_maps("default").create(parent(name))
        # The informers have their state from watches, which are allowed.
        fault = env.server.faults.fail(403, verb="list", resource="secrets", times=None)
        replica = await env.start(app)
        await env.advance(60)
        assert replica.runtime.pending_work()
        refused = [request for request in env.server.requests if request.code == 403]
        assert 2 <= len(refused) <= 10
        fault.remove()
        await env.advance(60)
        assert await children(env) == dict.fromkeys(NAMES, 1)
        assert replica.runtime.is_idle
    assert (
        "whether the cache of secrets is current cannot be told, so that nothing is reconciled with it" in caplog.text
    )
