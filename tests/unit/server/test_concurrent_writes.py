"""Writes of large objects, which a thread merges, while other writes change the same object."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masthead_server.clock import VirtualClock
from masthead_server.cluster import ClusterState
from masthead_server.faults import Faults
from masthead_server.resources.catalog import Catalog
from masthead_server.storage import Storage
from masthead_server.verbs.rest import Rest
from masthead_server.verbs.watch import WatchLimits
from masthead_server.wire.request import APPLY_PATCH_TYPE, MERGE_PATCH_TYPE, ApiRequest, ApiResponse
from masthead_server.wire.request_info import read_request_info

if TYPE_CHECKING:
    from collections.abc import Coroutine

MAPS = "/api/v1/namespaces/default/configmaps"
LARGE = "x" * 140_000
"""A value that makes an object so large that a thread merges it."""
CATALOG = Catalog.builtin()
Plain = dict[str, Any]


def new_rest() -> Rest:
    cluster = ClusterState(Storage(), VirtualClock(), CATALOG)
    cluster.add_first_namespaces()
    return Rest(cluster, Faults(CATALOG), WatchLimits(), lambda: None)


async def send(rest: Rest, request: ApiRequest) -> ApiResponse:
    response = await rest.respond(request, read_request_info(request))
    assert isinstance(response, ApiResponse)
    return response


def apply(rest: Rest, manager: str, value: str = LARGE) -> Coroutine[Any, Any, ApiResponse]:
    """Apply a large value under the name of the manager."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {manager: value}}
    query, headers = {"fieldManager": [manager]}, {"content-type": APPLY_PATCH_TYPE}
    return send(rest, ApiRequest("PATCH", f"{MAPS}/a", query, headers, json.dumps(config).encode()))


def patch(rest: Rest, body: Plain) -> Coroutine[Any, Any, ApiResponse]:
    return send(
        rest, ApiRequest("PATCH", f"{MAPS}/a", {}, {"content-type": MERGE_PATCH_TYPE}, json.dumps(body).encode())
    )


async def read(rest: Rest) -> Plain | None:
    response = await send(rest, ApiRequest("GET", f"{MAPS}/a"))
    return json.loads(response.body) if response.code == 200 else None


async def begin(group: asyncio.TaskGroup, write: Coroutine[Any, Any, ApiResponse]) -> asyncio.Task[ApiResponse]:
    """Start a write, and let it run until it waits."""
    task = group.create_task(write)
    await asyncio.sleep(0)
    assert not task.done()
    return task


def test_applies_that_overlap_all_take_effect() -> None:
    async def scenario() -> None:
        rest = new_rest()
        managers = ["one", "two", "three", "four"]
        responses = await asyncio.gather(*(apply(rest, manager) for manager in managers))
        assert sorted(response.code for response in responses) == [200, 200, 200, 201]
        stored = await read(rest)
        assert stored is not None
        assert set(stored["data"]) == set(managers)
        assert {entry["manager"] for entry in stored["metadata"]["managedFields"]} == set(managers)

    asyncio.run(scenario())


def test_a_small_write_does_not_wait_for_a_large_one_and_both_take_effect() -> None:
    async def scenario() -> None:
        rest = new_rest()
        async with asyncio.TaskGroup() as group:
            await apply(rest, "first", "small")
            slow = await begin(group, apply(rest, "slow"))
            assert (await patch(rest, {"data": {"quick": "1"}})).code == 200
            assert not slow.done()
            assert (await slow).code == 200
            stored = await read(rest)
            assert stored is not None
            assert set(stored["data"]) == {"first", "slow", "quick"}

    asyncio.run(scenario())


def test_an_apply_to_an_object_that_is_deleted_meanwhile_creates_it_again() -> None:
    async def scenario() -> None:
        rest = new_rest()
        async with asyncio.TaskGroup() as group:
            await apply(rest, "first", "small")
            first = await read(rest)
            slow = await begin(group, apply(rest, "slow"))
            assert (await send(rest, ApiRequest("DELETE", f"{MAPS}/a"))).code == 200
            assert (await slow).code == 201
            stored = await read(rest)
            assert first is not None
            assert stored is not None
            assert set(stored["data"]) == {"slow"}
            assert stored["metadata"]["uid"] != first["metadata"]["uid"]

    asyncio.run(scenario())


def test_a_cancelled_request_stores_nothing() -> None:
    async def scenario() -> None:
        rest = new_rest()
        async with asyncio.TaskGroup() as group:
            slow = await begin(group, apply(rest, "slow"))
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            assert await read(rest) is None
            assert (await apply(rest, "slow")).code == 201

    asyncio.run(scenario())


def test_a_request_that_is_superseded_again_and_again_ends_with_a_conflict() -> None:
    async def scenario() -> None:
        rest = new_rest()
        async with asyncio.TaskGroup() as group:
            await apply(rest, "first", "small")
            slow = await begin(group, apply(rest, "slow"))
            number = 0
            while not slow.done():
                await patch(rest, {"data": {"number": str(number)}})
                number += 1
                await asyncio.sleep(0)
            response = await slow
            assert response.code == 409
            assert json.loads(response.body)["reason"] == "Conflict"

    asyncio.run(scenario())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["large", "small", "delete", "wait"]), max_size=8))
def test_every_acknowledged_write_is_stored_unless_a_deletion_follows(actions: list[str]) -> None:
    """Large and small writes, each with a key of its own, in any order and overlap."""

    async def scenario() -> None:
        rest = new_rest()
        async with asyncio.TaskGroup() as group:
            waiting: dict[str, asyncio.Task[ApiResponse]] = {}
            kept: set[str] = set()
            for number, action in enumerate(actions):
                key = f"key-{number}"
                if action == "large":
                    waiting[key] = await begin(group, apply(rest, key))
                elif action == "small":
                    assert (await apply(rest, key, "small")).code in {200, 201}
                    kept.add(key)
                elif action == "delete":
                    # A write that was acknowledged before is deleted; one that still waits creates the object again.
                    kept -= {key for key in kept if key not in waiting}
                    kept -= {key for key, task in waiting.items() if task.done()}
                    waiting = {key: task for key, task in waiting.items() if not task.done()}
                    await send(rest, ApiRequest("DELETE", f"{MAPS}/a"))
                else:
                    await asyncio.sleep(0)
            for key, task in waiting.items():
                assert (await task).code in {200, 201}
                kept.add(key)
            stored = await read(rest)
            assert set((stored or {}).get("data") or {}) == kept

    asyncio.run(scenario())
