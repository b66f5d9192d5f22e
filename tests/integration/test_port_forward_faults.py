"""Forwarded connections that break, stall or are closed at every point, and pods that come and go; in virtual time."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import masthead.aio
import masthead.server
from masthead.api.core.v1 import Container, Pod
from masthead.errors import ClosedError, ForbiddenError, MastheadError, PortForwardError
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.aio import Client
    from masthead.aio.clientset.core_v1 import Pods
    from masthead.server import Server

MIRROR = 7
LONG = bytes(range(256)) * 800


async def mirror(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**14):
        writer.write(data)
        await writer.drain()


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[Server, Pods[Pod], Client]]:
    """A server with a pod, and a client of it, in one event loop."""
    async with (
        masthead.server.run(clock=LoopClock()) as server,
        masthead.aio.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        pods = client.core_v1.pods("default")
        await start(server, pods)
        server.kubelet.listen("*", MIRROR, mirror)
        yield server, pods, client


async def start(server: Server, pods: Pods[Pod], name: str = "web") -> None:
    await pods.create(Pod.new(name, spec={"containers": [Container(name="app", image="app")]}))
    server.kubelet.start(name)


async def talk(port: int, said: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(said)
        writer.write_eof()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def mirrored(pods: Pods[Pod], said: bytes) -> bytes:
    async with pods.connect("web", MIRROR) as connection, asyncio.TaskGroup() as group:
        group.create_task(say(connection, said))
        heard = b""
        while piece := await connection.read(2**16):
            heard += piece
        return heard


async def attempt(pods: Pods[Pod], said: bytes) -> tuple[bytes, set[str]]:
    """What comes back, and what went wrong."""
    try:
        return await mirrored(pods, said), set()
    except* PortForwardError as errors:
        problems = {str(exception) for exception in errors.exceptions}
    return b"", problems


async def say(connection: masthead.aio.streams.PodConnection, said: bytes) -> None:
    await connection.write(said)
    await connection.write_eof()


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, len(LONG) + 400), st.booleans())
def test_a_connection_that_breaks_anywhere_is_an_error_or_comes_too_late(after: int, received: bool) -> None:
    async def main() -> None:
        async with cluster() as (server, pods, _):
            server.faults.drop_stream(after=after, received=received, subresource="portforward")
            heard, problems = await attempt(pods, LONG)
            assert heard == LONG or problems
            assert all(problem.startswith("port-forward to pod default/web, port 7: ") for problem in problems)
            # Nothing is left of it: the next connection works.
            assert await mirrored(pods, b"again") == b"again"

    run(main())


@pytest.mark.parametrize("after", [0, 40, 100_000])
@in_virtual_time
async def test_a_connection_that_falls_silent_is_given_up_after_a_minute(after: int) -> None:
    async with cluster() as (server, pods, _):
        server.faults.silence_stream(after=after, subresource="portforward")
        began = now()
        _, [error] = await attempt(pods, LONG)
        assert "sent nothing for 60 s" in error or "not accepted the connection for 30 seconds" in error
        assert 30 <= now() - began < 65


@in_virtual_time
async def test_a_close_with_a_code_is_named() -> None:
    async with cluster() as (server, pods, _):
        server.faults.close_stream(1011, reason="out of memory", after=100, subresource="portforward")
        async with pods.connect("web", MIRROR) as connection:
            await connection.write(LONG)
            with pytest.raises(PortForwardError, match=r"port 7: .*code 1011: out of memory"):
                await connection.read()


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "data of the SPDY stream 1195725856, which was never opened"),
        (b"\x80\x03\0\x07\0\0\0\x08\0\0\0\0\0\0\0\0", ""),
        (b"\x80\x02\0\x01\0\0\0\0", "a SPDY frame of version 2; only version 3 is spoken"),
        (
            b"\x80\x03\0\x01\0\xff\xff\xff",
            "a SPDY control frame of 16777215 bytes; at most 65536 are allowed",
        ),
        (b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x03\0\0\0\x05", "the pod's node has reset the connection"),
    ],
)
@in_virtual_time
async def test_frames_that_no_kubelet_sends_are_ignored_or_end_the_connection(message: bytes, problem: str) -> None:
    async with cluster() as (server, pods, _):
        server.faults.insert_message(message, after=40, subresource="portforward")
        _, problems = await attempt(pods, b"hello")
        assert problems == ({f"port-forward to pod default/web, port 7: {problem}"} if problem else set())
        assert await mirrored(pods, b"again") == b"again"


@in_virtual_time
async def test_a_spare_connection_that_is_lost_is_replaced() -> None:
    async with cluster() as (server, pods, _):
        server.faults.drop_stream(after=0, subresource="portforward", times=3)
        async with pods.port_forward("web", MIRROR) as port:
            await asyncio.sleep(60)
            opened = len([request for request in server.requests if request.path.endswith("/portforward")])
            assert 4 <= opened <= 8
            assert await talk(port, b"hello") == b"hello"


@in_virtual_time
async def test_a_server_that_refuses_for_a_while_fails_single_connections(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster() as (server, pods, _), pods.port_forward("web", MIRROR) as port:
        assert await talk(port, b"x") == b"x"
        server.faults.fail(403, subresource="portforward", times=None)
        answers = [await talk(port, b"y") for _ in range(3)]
        assert answers[-1] == b""
        assert "port-forward pods default/web" in caplog.text
        server.faults.clear()
        await asyncio.sleep(20)
        assert await talk(port, b"z") == b"z"


@in_virtual_time
async def test_a_server_that_forbids_it_is_noticed_at_once_and_no_listener_is_left() -> None:
    async with cluster() as (server, pods, _):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            free = probe.getsockname()[1]
        server.faults.fail(403, subresource="portforward")
        with pytest.raises(ForbiddenError, match="port-forward pods default/web"):
            await pods.port_forward("web", MIRROR, local_port=free).open()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", free)


@in_virtual_time
async def test_connections_wait_for_the_next_pod_if_a_forward_follows() -> None:
    async with cluster() as (server, pods, _):
        forward = pods.port_forward("web", MIRROR, reconnect=True)
        async with forward as port, asyncio.TaskGroup() as group:
            await pods.delete("web", grace_period_seconds=0)
            await asyncio.sleep(5)
            waiting = group.create_task(talk(port, b"patient"))
            await asyncio.sleep(10)
            await start(server, pods)
            assert await waiting == b"patient"
            assert forward.pod == "default/web"


@in_virtual_time
async def test_connections_wait_half_a_minute_for_the_next_pod(caplog: pytest.LogCaptureFixture) -> None:
    async with cluster() as (server, pods, _), pods.port_forward("web", MIRROR, reconnect=True) as port:
        await pods.delete("web", grace_period_seconds=0)
        await asyncio.sleep(5)
        began = now()
        assert await talk(port, b"impatient") == b""
        assert now() - began == pytest.approx(30.0)
        assert "port-forward pods default/web: no pod has been running for 30 seconds" in caplog.text
        await start(server, pods)
        await asyncio.sleep(20)
        assert await talk(port, b"x") == b"x"


@in_virtual_time
async def test_who_may_not_watch_pods_notices_the_loss_with_the_next_connection() -> None:
    async with cluster() as (server, pods, _):
        server.faults.fail(403, verb="watch", resource="pods", times=None)
        forward = pods.port_forward("web", MIRROR)
        async with forward as port:
            assert await talk(port, b"x") == b"x"
            await pods.delete("web", grace_period_seconds=0)
            await talk(port, b"y")
            with pytest.raises(PortForwardError, match="pod default/web is gone"):
                await forward.wait()


@in_virtual_time
async def test_a_restarted_container_breaks_connections_and_not_the_forward() -> None:
    async with cluster() as (server, pods, _), pods.port_forward("web", MIRROR) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        server.kubelet.restart("web")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        await asyncio.sleep(60)
        assert await talk(port, b"y") == b"y"


@in_virtual_time
async def test_an_unreachable_server_does_not_end_a_forward() -> None:
    async with cluster() as (server, pods, _):
        forward = pods.port_forward("web", MIRROR)
        async with forward as port:
            server.faults.fail(500, subresource="portforward", times=None)
            server.faults.fail(500, verb="get", resource="pods", times=None)
            for _ in range(3):
                await talk(port, b"x")
                await asyncio.sleep(30)
            server.faults.clear()
            await asyncio.sleep(60)
            assert await talk(port, b"y") == b"y"


@in_virtual_time
async def test_the_end_of_the_client_ends_its_forwards_and_connections() -> None:
    async with cluster() as (server, _, _):
        client = masthead.aio.Client(kubeconfig=server.kubeconfig())
        pods = client.core_v1.pods("default")
        forward, connection = pods.port_forward("web", MIRROR), pods.connect("web", MIRROR)
        port = await forward.open()
        await connection.open()
        leads_there = await pods.open_socket("web", MIRROR)
        leads_there.setblocking(False)
        await client.close()
        with pytest.raises(MastheadError):
            await connection.read()
        with pytest.raises(ClosedError):
            await forward.wait()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        await forward.close()
        await connection.close()
        leads_there.close()


@pytest.mark.slow
@in_virtual_time
async def test_cancelling_at_any_turn_of_the_loop_leaves_nothing_behind() -> None:
    async with cluster() as (_, pods, _):

        async def forwarded() -> None:
            async with pods.port_forward("web", MIRROR) as port:
                await talk(port, LONG)

        async def bridged() -> None:
            loop = asyncio.get_running_loop()
            with await pods.open_socket("web", MIRROR) as leads_there:
                leads_there.setblocking(False)
                await loop.sock_sendall(leads_there, b"hello")
                await loop.sock_recv(leads_there, 5)

        await forwarded()
        await asyncio.sleep(10)
        before = len(asyncio.all_tasks())
        for work in (forwarded, bridged, lambda: mirrored(pods, LONG)):
            for turns in [*range(70), *range(70, 300, 23)]:
                running = asyncio.get_running_loop().create_task(work())
                for _ in range(turns):
                    await asyncio.sleep(0)
                running.cancel()
                await asyncio.wait([running])
            await asyncio.sleep(10)  # until the server has noticed
            assert len(asyncio.all_tasks()) <= before + 1, work  # its handler of one idle connection


@pytest.mark.slow
@in_virtual_time
async def test_many_connections_leave_nothing_behind() -> None:
    async with cluster() as (_, pods, _), pods.port_forward("web", MIRROR, max_connections=20) as port:
        await talk(port, b"x")
        await asyncio.sleep(10)
        before = len(asyncio.all_tasks())
        for _ in range(5):
            said = [b"%d" % number for number in range(50)]
            assert await asyncio.gather(*[talk(port, each) for each in said]) == said
        await asyncio.sleep(10)
        assert len(asyncio.all_tasks()) <= before + 1
