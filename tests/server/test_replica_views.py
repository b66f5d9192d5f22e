"""Replicas of a test environment whose views are held back: their informers, with and without watch-lists."""

from __future__ import annotations

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment, in_virtual_time

WATCH_LISTS = pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list and watch"])


def make_copier() -> masthead.Manager:
    """A manager that copies the value of each Secret to a ConfigMap, as its cache shows it."""
    app = masthead.Manager("copies")

    @app.controller(Secret, reads=[ConfigMap])
    async def copy(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        value = (secret.data or {}).get("value", b"").decode()
        # By itself, because `ctx.apply` asks the server whether its owner is still the same.
        copies = ctx.client.core_v1.config_maps("default")
        copied = ConfigMap.new(secret.metadata.name, data={"value": value})
        await copies.apply(copied, force=True, field_manager="copies")

    return app


def open_environment(*, watch_list: bool) -> Environment:
    return Environment(leader_election=False, server_options={"watch_list": watch_list, "record_changes": True})


async def write(env: Environment, value: str) -> None:
    """Write the Secret."""
    await env.client.core_v1.secrets("default").apply(Secret.new("a", data={"value": value.encode()}), force=True)


async def read_copy(env: Environment) -> str:
    found = await env.client.core_v1.config_maps("default").get("a")
    return (found.data or {})["value"]


@WATCH_LISTS
@in_virtual_time
async def test_a_replica_with_a_frozen_view_reconciles_old_data_and_catches_up(*, watch_list: bool) -> None:
    async with open_environment(watch_list=watch_list) as env:
        await write(env, "old")
        frozen = env.server.faults.freeze(resource="secrets", client="first")
        await write(env, "new")
        await env.start(make_copier, "first")
        await env.wait_for_idle()
        assert await read_copy(env) == "old"
        assert frozen.hits

        frozen.remove()
        await env.wait_for_idle()
        assert await read_copy(env) == "new"
        [first, second] = [change for change in env.server.changes() if change.resource == "configmaps"]
        assert (first.client, first.verb, first.field_manager) == ("first", "apply", "copies")
        assert first.reconcile.startswith("secrets default/a ")
        assert first.reconcile != second.reconcile


@WATCH_LISTS
@in_virtual_time
async def test_a_running_replica_sees_nothing_of_a_frozen_kind_until_it_thaws(*, watch_list: bool) -> None:
    async with open_environment(watch_list=watch_list) as env:
        await write(env, "old")
        await env.start(make_copier, "first")
        await env.wait_for_idle()
        frozen = env.server.faults.freeze(resource="secrets", client="first")
        await write(env, "new")
        await env.advance(1200)  # its watches end, and are opened again
        await env.wait_for_idle()
        assert await read_copy(env) == "old"
        frozen.remove()
        await env.wait_for_idle()
        assert await read_copy(env) == "new"


@WATCH_LISTS
@in_virtual_time
async def test_held_events_reach_one_replica_late(*, watch_list: bool) -> None:
    async with open_environment(watch_list=watch_list) as env:
        await write(env, "old")
        await env.start(make_copier, "first")
        await env.wait_for_idle()
        held = env.server.faults.hold_events("a", resource="secrets", client="first")
        await write(env, "new")
        await held.hit()
        await env.wait_for_idle()
        assert await read_copy(env) == "old"
        held.remove()
        await env.wait_for_idle()
        assert await read_copy(env) == "new"
