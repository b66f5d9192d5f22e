"""Watches over real HTTP: where they start, their events, their end, and clients that do not read."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import aiohttp
import pytest
from tests.server.calls import MAPS, WATCH_LIST

import masthead.server
from masthead.server import VirtualClock
from masthead_server.verbs.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from masthead.server import Server

ENDS_STATE = {"k8s.io/initial-events-end": "true"}


class Client:
    """Writes config maps and watches them; closes its connections."""

    def __init__(self, server: Server) -> None:
        self.http = aiohttp.ClientSession(server.url)
        self._open: list[aiohttp.ClientResponse] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.hang_up()
        await self.http.close()

    async def create(self, name: str, **rest: Any) -> str:
        """Create a config map; returns its version."""
        body = {"metadata": {"name": name}, **rest}
        async with self.http.post(MAPS, json=body) as response:
            return str((await response.json())["metadata"]["resourceVersion"])

    async def create_namespace(self, name: str) -> None:
        async with self.http.post("/api/v1/namespaces", json={"metadata": {"name": name}}) as response:
            assert response.status == 201

    async def merge(self, name: str, patch: object) -> None:
        headers = {"Content-Type": "application/merge-patch+json"}
        async with self.http.patch(f"{MAPS}/{name}", data=json.dumps(patch), headers=headers) as response:
            assert response.status == 200

    async def watch(self, query: str) -> aiohttp.ClientResponse:
        response = await self.http.get(f"{MAPS}?{query}")
        self._open.append(response)
        assert response.status == 200
        return response

    def hang_up(self) -> None:
        """Close every watch."""
        for each in self._open:
            each.close()
        self._open.clear()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with masthead.server.run(bootstrap=False, clock=VirtualClock(), token=None, backlog=100) as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with Client(server) as made:
        yield made


async def read(stream: aiohttp.ClientResponse, count: int = 1) -> list[tuple[str, str]]:
    """The next events: their types, and the names or, of bookmarks, the versions."""
    found: list[tuple[str, str]] = []
    for _ in range(count):
        event = json.loads(await stream.content.readline())
        meta = event["object"]["metadata"]
        found.append((event["type"], meta.get("name") or meta.get("resourceVersion", "")))
    return found


async def turns_until(is_so: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    for _ in range(100_000):
        if is_so():
            return
        await asyncio.sleep(0)
    pytest.fail("it never was")


def streams(server: Server) -> int:
    return len(server._handler.watchers)


# Where a watch begins


async def test_a_watch_from_a_version_sends_later_events(client: Client) -> None:
    version = await client.create("a")
    await client.create("b")
    stream = await client.watch(f"watch=1&resourceVersion={version}")
    await client.create("c")

    assert await read(stream, 2) == [("ADDED", "b"), ("ADDED", "c")]


@pytest.mark.parametrize("query", ["watch=1", "watch=1&resourceVersion=0"])
async def test_a_watch_from_now_or_from_0_sends_initial_events(client: Client, query: str) -> None:
    await client.create("b")
    await client.create("a")
    stream = await client.watch(query)
    await client.create("c")

    assert await read(stream, 3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_headers_are_sent_at_once_even_without_events(server: Server, client: Client) -> None:
    stream = await client.watch(f"watch=1&resourceVersion={server.revision}")

    assert stream.headers["Content-Type"] == "application/json"
    assert stream.headers["Transfer-Encoding"] == "chunked"


async def test_a_watch_from_a_future_version_sends_only_newer_events(server: Server, client: Client) -> None:
    stream = await client.watch(f"watch=1&resourceVersion={server.revision + 1}")
    await client.create("a")
    await client.create("b")

    assert await read(stream) == [("ADDED", "b")]


@pytest.mark.parametrize("query", [WATCH_LIST, "watch=1&allowWatchBookmarks=true"])
async def test_a_bookmark_ends_the_initial_events(client: Client, query: str) -> None:
    version = await client.create("a")
    stream = await client.watch(query)

    assert await read(stream) == [("ADDED", "a")]
    bookmark = json.loads(await stream.content.readline())
    assert bookmark == {
        "type": "BOOKMARK",
        "object": {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": version, "annotations": ENDS_STATE},
        },
    }


async def test_without_bookmarks_the_end_of_the_initial_events_is_not_marked(client: Client) -> None:
    await client.create("a")
    stream = await client.watch(WATCH_LIST.replace("allowWatchBookmarks=true", ""))
    await client.create("b")

    assert await read(stream, 2) == [("ADDED", "a"), ("ADDED", "b")]


async def test_many_initial_events_are_complete_and_in_order(server: Server, client: Client) -> None:
    names = [f"map-{index:03}" for index in range(80)]
    for name in names:
        await client.create(name, data={"k": "v" * 4000})
    stream = await client.watch(WATCH_LIST)

    assert await read(stream, 81) == [
        *(("ADDED", name) for name in names),
        ("BOOKMARK", str(server.revision)),
    ]


async def test_an_expired_version_is_an_error_event_in_the_stream(server: Server, client: Client) -> None:
    version = await client.create("a")
    await client.create("b")
    server.compact()
    stream = await client.watch(f"watch=1&resourceVersion={version}")

    event = json.loads(await stream.content.readline())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert event["object"]["message"] == f"too old resource version: {version} ({server.revision})"
    assert await stream.content.readline() == b""


async def test_watch_lists_can_be_switched_off() -> None:
    async with (
        masthead.server.run(bootstrap=False, token=None, watch_list=False) as server,
        Client(server) as client,
        client.http.get(f"{MAPS}?{WATCH_LIST}") as response,
    ):
        assert response.status == 422


# Its events


async def test_objects_enter_and_leave_a_selection(server: Server, client: Client) -> None:
    stream = await client.watch(f"watch=1&labelSelector=l=1&resourceVersion={server.revision}")
    await client.create("a", data={"k": "old"})
    await client.merge("a", {"metadata": {"labels": {"l": "1"}}})
    await client.merge("a", {"data": {"k": "new"}})
    await client.merge("a", {"metadata": {"labels": {"l": "2"}}, "data": {"k": "unseen"}})
    left_at = server.revision

    assert await read(stream, 2) == [("ADDED", "a"), ("MODIFIED", "a")]
    left = json.loads(await stream.content.readline())
    assert left["type"] == "DELETED"
    assert left["object"]["data"] == {"k": "new"}
    assert left["object"]["metadata"]["labels"] == {"l": "1"}
    assert left["object"]["metadata"]["resourceVersion"] == str(left_at)


async def test_bookmarks_come_at_their_time_with_the_newest_version(server: Server, client: Client) -> None:
    stream = await client.watch(f"watch=1&allowWatchBookmarks=true&resourceVersion={server.revision}")
    await server.wait_for_idle()
    server.advance(59)
    await client.create_namespace("elsewhere")
    server.advance(1)
    first = server.revision
    await client.create("a")
    server.advance(60)

    assert await read(stream, 3) == [
        ("BOOKMARK", str(first)),
        ("ADDED", "a"),
        ("BOOKMARK", str(server.revision)),
    ]


async def test_the_time_between_bookmarks_can_be_set() -> None:
    async with (
        masthead.server.run(bootstrap=False, token=None, clock=VirtualClock(), bookmark_every=0.5) as server,
        Client(server) as client,
    ):
        stream = await client.watch(f"watch=1&allowWatchBookmarks=true&resourceVersion={server.revision}")
        await server.wait_for_idle()
        server.advance(1.6)

        assert await read(stream, 3) == [("BOOKMARK", str(server.revision))] * 3


async def test_bookmarks_are_sent_only_on_request(server: Server, client: Client) -> None:
    stream = await client.watch(f"watch=1&resourceVersion={server.revision}")
    await server.wait_for_idle()
    server.advance(600)
    await client.create("a")

    assert await read(stream) == [("ADDED", "a")]


async def test_compaction_does_not_disturb_a_watch_that_is_caught_up(server: Server, client: Client) -> None:
    await client.create("a")
    stream = await client.watch("watch=1")
    assert await read(stream) == [("ADDED", "a")]
    await client.create_namespace("elsewhere")
    server.compact()
    await client.create("b")

    assert await read(stream) == [("ADDED", "b")]


# When it ends


async def test_a_watch_ends_cleanly_at_its_timeout(server: Server, client: Client) -> None:
    query = f"watch=1&timeoutSeconds=30&allowWatchBookmarks=true&resourceVersion={server.revision}"
    stream = await client.watch(query)
    await server.wait_for_idle()
    await client.create("a")
    server.advance(27)
    server.advance(3)

    # Two seconds before the end there is a bookmark, so that a client that resumes need not read much again.
    assert await read(stream, 2) == [("ADDED", "a"), ("BOOKMARK", str(server.revision))]
    assert await stream.content.readline() == b""
    await server.wait_for_idle()
    assert streams(server) == 0


async def test_a_watch_without_a_timeout_ends_at_the_servers() -> None:
    async with (
        masthead.server.run(bootstrap=False, token=None, clock=VirtualClock(), watch_timeout=100) as server,
        Client(server) as client,
    ):
        stream = await client.watch("watch=1")
        await server.wait_for_idle()
        server.advance(99)
        await client.create("a")
        assert await read(stream) == [("ADDED", "a")]
        server.advance(1)
        assert await stream.content.readline() == b""


async def test_stopping_the_server_ends_every_stream_cleanly() -> None:
    async with masthead.server.run(bootstrap=False, token=None) as server:
        client = Client(server)
        version = server.revision
        found = [await client.watch(f"watch=1&resourceVersion={version}") for _ in range(5)]
        await client.create("a")
    for stream in found:
        assert await read(stream) == [("ADDED", "a")]
        assert await stream.content.readline() == b""
    await client.__aexit__()


async def test_stopping_the_server_ends_silenced_streams_too() -> None:
    async with masthead.server.run(bootstrap=False, token=None) as server:
        client = Client(server)
        server.faults.silence_watch()
        stream = await client.watch("watch=1")
    assert await stream.content.readline() == b""
    await client.__aexit__()


@pytest.mark.slow
async def test_a_watch_is_freed_when_its_client_disconnects(server: Server, client: Client) -> None:
    await server.wait_for_idle()
    tasks = len(asyncio.all_tasks())
    table = server._storage.table("configmaps")
    for _ in range(20):
        await client.watch("watch=1")
    await server.wait_for_idle()
    assert (streams(server), len(table.listeners)) == (20, 20)

    client.hang_up()
    await turns_until(lambda: not streams(server))

    assert len(table.listeners) == 0
    for _ in range(20):  # aiohttp ends its own tasks, with all that they hold, a little later
        await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) <= tasks
    gc.collect()
    ours = [each for each in gc.get_objects() if type(each) is Watcher and each._storage is server._storage]
    assert ours == []


async def test_a_silenced_watch_is_freed_when_its_client_disconnects(server: Server, client: Client) -> None:
    server.faults.silence_watch()
    stream = await client.watch("watch=1")
    await server.wait_for_idle()
    assert streams(server) == 1

    stream.close()
    await turns_until(lambda: not streams(server))


# Readers that do not read


async def open_and_do_not_read(server: Server, version: int | str) -> socket.socket:
    """A watch whose client reads nothing from its socket, which has a small buffer."""
    address = urlsplit(server.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, (address.hostname, address.port))
    request = f"GET {MAPS}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    await loop.sock_sendall(connection, request.encode())
    await turns_until(lambda: streams(server) > 0)
    [there] = [
        each.transport
        for each in server._http.connections
        if each.transport is not None and each.transport.get_extra_info("peername") == connection.getsockname()
    ]
    there.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return connection


async def read_to_the_end(connection: socket.socket) -> list[Any]:
    """All events of a chunked stream that ends well."""
    loop = asyncio.get_running_loop()
    received = b""
    while not received.endswith(b"\r\n0\r\n\r\n"):
        piece = await loop.sock_recv(connection, 65536)
        assert piece, "it broke"
        received += piece
    connection.close()
    body = b""
    rest = received.partition(b"\r\n\r\n")[2]
    while rest != b"0\r\n\r\n":
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return [json.loads(line) for line in body.splitlines()]


async def write_much(client: Client, count: int, size: int = 50_000) -> None:
    """Writes, one after the other, of more than fits between a server and a client that does not read."""
    for index in range(count):
        async with client.http.put(
            f"{MAPS}/busy",
            json={"metadata": {"name": "busy"}, "data": {"k": "v" * size, "n": str(index)}},
        ) as response:
            assert response.status == 200


@pytest.mark.slow
async def test_a_client_that_does_not_read_slows_no_one_down_and_is_cut_off(server: Server, client: Client) -> None:
    await client.create("busy")
    start = server.revision
    lazy = await open_and_do_not_read(server, start)
    eager = await client.watch(f"watch=1&resourceVersion={start}")

    async def follow() -> list[tuple[str, str]]:
        return await read(eager, 2000)

    following = asyncio.gather(follow())
    await write_much(client, 2000, size=5000)

    # Every write got a response, the other watch missed nothing, and the server is idle without the lazy one.
    assert [each[0] for each in (await following)[0]] == ["MODIFIED"] * 2000
    await server.wait_for_idle()
    kept = [
        connection.transport.get_write_buffer_size() for connection in server._http.connections if connection.transport
    ]
    assert max(kept) < 1024 * 1024
    assert len(server._storage.table("configmaps").listeners) == 1

    # What it was sent before it was cut off is whole, and it can go on from there.
    events = await read_to_the_end(lazy)
    assert 0 < len(events) < 2000
    last = events[-1]["object"]["metadata"]["resourceVersion"]
    again = await client.watch(f"watch=1&resourceVersion={last}")
    event = json.loads(await again.content.readline())
    assert int(event["object"]["data"]["n"]) == len(events)


@pytest.mark.parametrize(("ends", "writes"), [("", 200), ("&timeoutSeconds=3", 40)])
async def test_a_client_that_does_not_read_the_end_is_disconnected(
    server: Server, client: Client, ends: str, writes: int
) -> None:
    lazy = await open_and_do_not_read(server, f"{server.revision}{ends}")
    await client.create("busy")
    await write_much(client, writes, size=5000)
    server.advance(10)
    await turns_until(lambda: streams(server) == 0)
    await server.wait_for_idle()
    lazy.close()


async def test_no_bookmark_is_sent_for_a_future_version(server: Server, client: Client) -> None:
    stream = await client.watch(f"watch=1&resourceVersion={server.revision + 1}&allowWatchBookmarks=1")
    server.advance(90)
    await client.create("a")
    server.advance(60)
    await client.create("b")

    assert [kind for kind, _ in await read(stream, 2)] == ["BOOKMARK", "ADDED"]


async def test_after_a_compaction_a_reader_that_was_cut_off_must_list_again(server: Server, client: Client) -> None:
    await client.create("busy")
    lazy = await open_and_do_not_read(server, server.revision)
    await write_much(client, 200)
    server.compact()

    last = (await read_to_the_end(lazy))[-1]["object"]["metadata"]["resourceVersion"]

    again = await client.watch(f"watch=1&resourceVersion={last}")
    assert json.loads(await again.content.readline())["object"]["code"] == 410


async def test_a_reader_that_is_behind_a_compaction_is_closed(server: Server, client: Client) -> None:
    await client.create("busy")
    lazy = await open_and_do_not_read(server, server.revision)
    await write_much(client, 95)  # less than the backlog, and more than fits into the buffers
    server.compact()

    events = await read_to_the_end(lazy)

    assert 0 < len(events) < 95
    assert [int(event["object"]["data"]["n"]) for event in events] == list(range(len(events)))


async def test_a_reader_that_is_slow_and_reads_again_misses_nothing(server: Server, client: Client) -> None:
    await client.create("busy")
    lazy = await open_and_do_not_read(server, server.revision)
    await write_much(client, 95)
    for open_watch in server._handler.watchers:
        open_watch.end()

    events = await read_to_the_end(lazy)

    assert [int(event["object"]["data"]["n"]) for event in events] == list(range(95))


async def test_a_watch_from_an_old_version_is_sent_more_than_the_backlog(client: Client) -> None:
    version = await client.create("first")
    for index in range(150):
        await client.create(f"map-{index:03}")
    stream = await client.watch(f"watch=1&resourceVersion={version}")

    assert await read(stream, 150) == [("ADDED", f"map-{index:03}") for index in range(150)]
