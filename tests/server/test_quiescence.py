"""Quiescence: which work is waited for, and the message of a timeout."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp
import pytest
from tests.server.calls import MAPS, Caller, config_map

import masthead.server
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.metadata import ObjectMeta
from masthead.api.core.v1 import Namespace
from masthead.errors import ArgumentError, ClosedError, ConfigError, UnknownKindError

if TYPE_CHECKING:
    from masthead.server import Server


async def create_large(server: Server, index: int) -> None:
    body = config_map(f"large-{index}", data={"k": "v" * 500_000})
    async with aiohttp.ClientSession(server.url) as client, client.post(MAPS, json=body) as response:
        assert response.status == 201


def test_at_rest_every_watch_was_sent_everything_also_under_load(server: Server) -> None:
    """Many clients write at once; when they are done and the server is idle, all events can be read."""

    def write(number: int) -> None:
        caller = Caller(server.url, server.token)
        for index in range(30):
            assert caller.call("POST", MAPS, config_map(f"a-{number}-{index}")).code == 201
        caller.close()

    watcher = Caller(server.url, server.token)
    with watcher.watching(f"{MAPS}?watch=1&resourceVersion={server.revision}") as stream:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        server.block_until_idle()
        stream.fp.raw._sock.settimeout(0.5)  # type: ignore[attr-defined]
        names = [json.loads(stream.readline())["object"]["metadata"]["name"] for _ in range(120)]

    assert len(set(names)) == 120


async def test_a_server_with_unsent_events_is_not_idle() -> None:
    async with masthead.server.run(token=None) as server, aiohttp.ClientSession(server.url) as client:
        stream = await client.get(f"{MAPS}?watch=1&resourceVersion={server.revision}")
        await server.wait_for_idle()
        [watch] = server._handler.watchers
        assert watch.is_caught_up
        cluster_map = config_map("a")
        async with client.post(MAPS, json=cluster_map) as response:
            assert response.status == 201
        await server.wait_for_idle()
        assert watch.cursor == server.revision
        assert b'"a"' in await stream.content.readline()
        stream.close()


async def test_a_reader_that_does_not_read_is_waited_for_and_named() -> None:
    async with masthead.server.run(token=None) as server:
        version = server.revision
        for index in range(40):
            await create_large(server, index)
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(server.url).port, limit=1024)
        request = f"GET {MAPS}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        writer.write(request.encode())
        await reader.readline()

        with pytest.raises(TimeoutError, match="the client of watch configmaps default does not read"):
            await server.wait_for_idle(timeout=0.2)

        writer.close()
        await server.wait_for_idle()


def test_a_watch_that_a_fault_made_silent_is_not_waited_for(server: Server, caller: Caller) -> None:
    server.faults.silence_watch()
    with caller.watching(f"{MAPS}?watch=1"):
        caller.call("POST", MAPS, config_map("a"))
        server.block_until_idle(timeout=60)


def test_the_work_of_controllers_is_waited_for(server: Server, caller: Caller) -> None:
    caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
    for index in range(100):
        caller.call("POST", "/api/v1/namespaces/x/configmaps", config_map(f"a-{index}"))
    caller.call("DELETE", "/api/v1/namespaces/x")
    server.block_until_idle()

    assert server.history(Namespace(metadata=ObjectMeta(name="x")))[-1].type == "DELETED"


def test_pending_timers_of_the_clock_are_not_waited_for(server: Server, caller: Caller) -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}
    caller.call("POST", "/api/v1/namespaces/default/pods", pod)
    caller.call("DELETE", "/api/v1/namespaces/default/pods/a")

    server.block_until_idle(timeout=60)

    assert caller.call("GET", "/api/v1/namespaces/default/pods/a").code == 200


async def test_blocking_the_servers_own_loop_is_rejected() -> None:
    async with masthead.server.run() as server:
        with pytest.raises(ConfigError, match=r"await server.wait_for_idle\(\)"):
            server.block_until_idle()


@pytest.mark.slow
async def test_waiting_raises_when_the_server_stops() -> None:
    async with masthead.server.run(token=None) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(server.url).port)
        for index in range(40):
            await create_large(server, index)
        writer.write(b"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readline()
        waiting = asyncio.gather(server.wait_for_idle(), return_exceptions=True)
        await asyncio.sleep(0)
        await server.stop()
        [found] = await waiting
        writer.close()

    assert isinstance(found, ClosedError)


async def test_a_request_that_was_sent_before_is_waited_for() -> None:
    async with masthead.server.run(token=None) as server:
        address = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        body = json.dumps({"metadata": {"generateName": "a-"}}).encode()
        head = f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"  # noqa: E501
        for _ in range(20):
            before = server.revision
            writer.write(head.encode() + body)
            await writer.drain()

            await server.wait_for_idle()

            assert server.revision == before + 1
            await reader.readuntil(b"\r\n\r\n")
            await reader.read(65536)
        writer.close()
        await writer.wait_closed()


def test_an_idle_server_has_no_pending_work(server: Server) -> None:
    server.block_until_idle()
    assert server.pending_work() == []


def test_the_versions_of_objects_are_those_of_a_list(server: Server) -> None:
    caller = Caller(server.url, server.token)
    for name, color in (("a", "red"), ("b", "blue")):
        body = config_map(name)
        body["metadata"]["labels"] = {"color": color}
        caller.call("POST", MAPS, body)
    maps = GroupVersionResource("", "v1", "configmaps")
    listed = {
        f"default/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for each in json.loads(caller.call("GET", MAPS).body)["items"]
    }
    before = len(server.requests)
    assert server.versions(maps, namespace="default") == listed
    assert server.versions(maps, label_selector="color=red") == {"default/a": listed["default/a"]}
    assert server.versions(maps, field_selector="metadata.name=b") == {"default/b": listed["default/b"]}
    assert len(server.requests) == before
    with pytest.raises(ArgumentError, match="unable to parse"):
        server.versions(maps, label_selector="!!")
    with pytest.raises(UnknownKindError, match="serves no"):
        server.versions(GroupVersionResource("example.com", "v1", "widgets"))
    caller.close()
