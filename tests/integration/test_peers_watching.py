"""Known bugs of watches of this API, one test each; the docstrings describe the bug."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.guarded import running
from tests.integration.scripts import (
    ScriptedResponse,
    ScriptedServer,
    bookmark,
    client_of,
    config_map,
    event,
    json_response,
    listed,
    status,
    stream,
)
from tests.unit.auth.plugins import Program
from tests.unit.config.samples import plain
from tests.unit.transport.servers import http_response

import masthead
import masthead.aio
import masthead.server
from masthead._sansio import listwatch
from masthead._sansio.backoff import Backoff
from masthead.api.core.v1 import ConfigMap
from masthead.config import from_kubeconfig
from masthead.errors import DecodeError, ExpiredError
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Cluster

    from masthead.server import Server

BUSY = event("ERROR", status(500, "InternalError", "etcd is not there"))


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let watches wait less after a failure."""
    monkeypatch.setattr(listwatch, "Backoff", partial(Backoff, first=0.01, cap=0.05))


async def next_events(events: Any, count: int) -> list[tuple[str, str]]:
    """The next events as type and name."""
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(60):
        async for each in events:
            found.append((each.type, each.object.metadata.name))
            if len(found) == count:
                break
    return found


def embedded(cluster: Cluster) -> Server:
    assert cluster.embedded is not None
    return cluster.embedded


@pytest.mark.slow
@pytest.mark.embedded_only
@pytest.mark.usefixtures("hurried")
async def test_an_untyped_watch_continues_after_its_connection_ends(
    cluster: Cluster, client: Any, namespace: str
) -> None:
    """Resuming was for typed clients only; without types, a watch ended after its first connection, silently."""
    untyped = client.dynamic("configmaps", namespace=namespace)
    since = (await untyped.list()).metadata.resource_version
    hit = embedded(cluster).faults.drop_watch(after=1, times=2, namespace=namespace)
    for name in "abc":
        await untyped.create({"metadata": {"name": name}})

    async with untyped.watch(resource_version=since) as events:
        assert await next_events(events, 3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert hit.hits == 2


@pytest.mark.slow
async def test_a_watch_continues_after_the_servers_timeout(facade: str) -> None:
    """A limit for one connection was taken as a limit for the whole watch."""
    async with masthead.server.run(clock=VirtualClock) as server:
        async with connected(from_kubeconfig(server.kubeconfig()), facade) as client:
            maps = client.core_v1.config_maps("default")
            untyped = client.dynamic("v1", "configmaps", namespace="default")
            async with untyped.watch(resource_version=str(server.revision), timeout_seconds=30) as events:
                await maps.create(ConfigMap.new("a"))
                assert await next_events(events, 1) == [("ADDED", "a")]
                await server.wait_for_idle()
                server.advance(60)
                await maps.create(ConfigMap.new("b"))
                assert await next_events(events, 1) == [("ADDED", "b")]
        watches = [request for request in server.requests if request.info.verb == "watch"]

    assert len(watches) == 2


FAILURES = {
    "a connection that is reset": ScriptedResponse(then="reset"),
    "a connection that breaks": stream(then="reset"),
    "an error of the server's": stream(BUSY, ends=True),
    "a gateway in between": ScriptedResponse(http_response(b"no upstream", status="502 Bad Gateway")),
    "a server that is full": ScriptedResponse(json_response(status(503, "ServiceUnavailable", "wait"), "503 No")),
    "a login page": ScriptedResponse(http_response(b"<html>", "Content-Type: text/html")),
}


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
async def test_a_watch_survives_failures_to_resume(facade: str, failure: ScriptedResponse) -> None:
    """The first drop was handled, but a failure of the connection after it ended the watch, or the whole program."""
    first = stream(event("ADDED", config_map("a", "7")), ends=True)
    script = ScriptedServer(deque([first, failure, failure, failure, stream(event("ADDED", config_map("b", "8")))]))
    async with (
        client_of(script.handle, facade) as client,
        client.core_v1.config_maps("shop").watch(resource_version="5") as events,
    ):
        assert await next_events(events, 2) == [("ADDED", "a"), ("ADDED", "b")]

    assert [query["resourceVersion"] for query in script.queries] == ["5", "7", "7", "7", "7"]


@pytest.mark.usefixtures("hurried")
async def test_failures_at_the_very_beginning_are_survived(facade: str) -> None:
    """One error before the first event ended some watches for good, and their readers continued without events."""
    refused = ScriptedResponse(json_response(status(503, "ServiceUnavailable", "starting"), "503 No"))
    first = stream(event("ADDED", config_map("a", "7")), bookmark("8", ends=True))
    script = ScriptedServer(deque([refused, ScriptedResponse(then="reset"), first]))
    async with (
        client_of(script.handle, facade) as client,
        client.core_v1.config_maps("shop").watch() as events,
    ):
        assert await next_events(events, 1) == [("ADDED", "a")]


NO_PAUSE = {
    "errors": stream(BUSY, ends=True),
    "nothing new": stream(ends=True),
    "drops": stream(then="reset"),
    "refusals": ScriptedResponse(http_response(b"busy", status="503 Service Unavailable")),
}


@pytest.mark.parametrize("response", NO_PAUSE.values(), ids=NO_PAUSE.keys())
async def test_a_failing_server_is_retried_with_backoff(facade: str, response: ScriptedResponse) -> None:
    """Hundreds of requests a second, against a server that fails already."""
    script = ScriptedServer(deque([response]))
    async with client_of(script.handle, facade) as client:
        maps = client.core_v1.config_maps("shop")
        events = maps.watch(resource_version="5")
        async with asyncio.TaskGroup() as group:
            group.create_task(next_events(events, 1))
            for _ in range(200):
                await maps.get("settings")
            await events.close()

    assert len(script.queries) <= 8  # without a pause, there would be dozens
    assert len(script.seen) - len(script.queries) == 200


@pytest.mark.parametrize("form", ["a response", "an event"])
async def test_an_expired_version_is_requested_once(facade: str, form: str) -> None:
    """Some clients retry for ever at the expired version; others drop it, and miss deletions."""
    gone = status(410, "Expired" if form == "an event" else "Gone", "too old resource version: 5 (9)")
    refusal = stream(event("ERROR", gone)) if form == "an event" else ScriptedResponse(json_response(gone, "410 Gone"))
    script = ScriptedServer(deque([refusal, stream(event("DELETED", config_map("a", "12")))]))
    script.rest = deque([json_response(listed(config_map("a"), version="11"))])
    async with client_of(script.handle, facade) as client:
        maps = client.core_v1.config_maps("shop")
        async with maps.watch(resource_version="5") as events:
            with pytest.raises(ExpiredError, match="List again and continue from the new resource version"):
                await next_events(events, 1)
        assert len(script.queries) == 1
        again = await maps.list()
        async with maps.watch(resource_version=again.metadata.resource_version) as events:
            assert await next_events(events, 1) == [("DELETED", "a")]

    assert [query["resourceVersion"] for query in script.queries] == ["5", "11"]


async def test_one_undecodable_object_does_not_break_a_watch(facade: str) -> None:
    """A watch that fails on an object comes back to the same object, hundreds of times a second, and never past it."""
    broken = config_map("broken", "7") | {"data": ["not", "a", "map"]}
    worse = config_map() | {"metadata": {"name": 5, "resourceVersion": "8"}}
    script = ScriptedServer(
        deque([stream(event("ADDED", broken) + event("ADDED", worse) + event("ADDED", config_map("c", "9")))])
    )
    async with (
        client_of(script.handle, facade) as client,
        client.core_v1.config_maps("shop").watch(resource_version="5") as events,
    ):
        seen = [await anext(events) for _ in range(3)]

    assert [each.version for each in seen] == ["7", "8", "9"]
    assert seen[1].type == "BROKEN"
    assert seen[2].object.metadata.name == "c"
    with pytest.raises(DecodeError):
        seen[0].object.data  # noqa: B018 - reading is what raises
    assert len(script.queries) == 1


@pytest.mark.usefixtures("hurried")
async def test_a_connection_lost_during_initial_events_restarts_them(facade: str) -> None:
    """Resuming from an initial event loses those not delivered yet, and not every bookmark ends them."""
    a, b = (event("ADDED", config_map(name, "7")) for name in "ab")
    script = ScriptedServer(
        deque(
            [
                stream(a, bookmark("8"), then="reset"),
                stream(a, b, bookmark("9", ends=True), event("MODIFIED", config_map("a", "10"))),
            ]
        )
    )
    async with (
        client_of(script.handle, facade) as client,
        client.core_v1.config_maps("shop").watch() as events,
    ):
        assert await next_events(events, 3) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a")]

    assert [query.get("sendInitialEvents") for query in script.queries] == ["true", "true"]
    assert not any("resourceVersion" in query for query in script.queries)


@pytest.mark.embedded_only
async def test_bookmarks_are_requested(cluster: Cluster, client: Any, namespace: str) -> None:
    """Without them, a quiet watch grows old, and its version is forgotten."""
    maps = client.core_v1.config_maps(namespace)
    since = (await maps.create(ConfigMap.new("a"))).metadata.resource_version
    await maps.create(ConfigMap.new("b"))
    async with maps.watch(resource_version=since) as events:
        await next_events(events, 1)

    (watch,) = [
        request
        for request in embedded(cluster).requests
        if request.info.verb == "watch" and request.info.namespace == namespace
    ]
    assert "allowWatchBookmarks=true" in watch.query


async def test_a_recreated_object_is_a_different_object(client: Any, namespace: str) -> None:
    """Deleted and created again looked like one change."""
    maps = client.core_v1.config_maps(namespace)
    first = await maps.create(ConfigMap.new("a"))
    await maps.delete("a")
    second = await maps.create(ConfigMap.new("a"))

    async with maps.watch(resource_version=first.metadata.resource_version) as events:
        gone, made = await anext(events), await anext(events)

    assert (gone.type, gone.object.metadata.uid) == ("DELETED", first.metadata.uid)
    assert (made.type, made.object.metadata.uid) == ("ADDED", second.metadata.uid)
    assert first.metadata.uid != second.metadata.uid


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("read_timeout", ["before the response", "within the stream"])
async def test_a_half_open_connection_is_detected(facade: str, read_timeout: str) -> None:
    """With no limit for silence, a watch whose other end has vanished hangs for ever without an error."""
    dead = ScriptedResponse(then="hold") if read_timeout == "before the response" else stream()
    script = ScriptedServer(deque([dead, stream(event("ADDED", config_map("a", "7")))]))
    async with (
        client_of(script.handle, facade, read_timeout=0.2, timeout=0.2) as client,
        client.core_v1.config_maps("shop").watch(resource_version="5") as events,
    ):
        assert await next_events(events, 1) == [("ADDED", "a")]


def test_every_wait_has_a_limit_by_default() -> None:
    """The usual default is no timeout at all."""
    for client in (masthead.Client, masthead.aio.Client):
        options = inspect.signature(client).parameters
        assert math.isfinite(options["timeout"].default)
        assert math.isfinite(options["read_timeout"].default)


async def test_a_watch_can_be_closed_before_the_first_event(client: Any, namespace: str) -> None:
    """Stopping right after starting hung until the next event, because only an event made it look."""
    async with asyncio.timeout(60):
        for _ in range(3):
            async with client.core_v1.config_maps(namespace).watch(resource_version="0") as events:
                await events.close()
            async with client.core_v1.config_maps(namespace).watch() as events, asyncio.TaskGroup() as group:
                group.create_task(next_events(events, 1000))
                await client.core_v1.config_maps(namespace).list()
                await events.close()


async def test_a_watch_can_be_closed_by_its_reader(client: Any, namespace: str) -> None:
    """Stopping from within a handler was an error: a thread cannot wait for itself."""
    maps = client.core_v1.config_maps(namespace)
    await maps.create(ConfigMap.new("a"))
    seen = []
    async with maps.watch(field_selector="metadata.name=a") as events:
        async for each in events:
            seen.append(each.type)
            await events.close()

    assert seen == ["ADDED"]


@pytest.mark.parametrize("code", [401, 403])
async def test_an_error_response_does_not_affect_other_calls(tmp_path: Path, facade: str, code: int) -> None:
    """A new login closed the connections of all watches, and a 403 caused one, though the user was authenticated."""
    program = Program(tmp_path).gives(token="t0ken")
    async with masthead.server.run(token="t0ken") as server:
        config = from_kubeconfig(plain(cluster={"server": server.url}, user=running(program)), environ={})
        async with connected(config, facade) as client:
            maps = client.core_v1.config_maps("default")
            async with maps.watch(resource_version=str(server.revision)) as events:
                await maps.create(ConfigMap.new("a"))
                assert await next_events(events, 1) == [("ADDED", "a")]
                server.faults.fail(code, verb="get", resource="configmaps", times=1)
                with pytest.raises(masthead.StatusError):
                    await maps.get("a")
                await maps.create(ConfigMap.new("b"))
                assert await next_events(events, 1) == [("ADDED", "b")]
        watches = [request for request in server.requests if request.info.verb == "watch"]

    assert len(watches) == 1
    assert program.runs == (2 if code == 401 else 1)
