"""Commands whose connection breaks, stalls, is flooded or closed, at every point; in virtual time."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import masthead.aio
import masthead.server
from masthead.api.core.v1 import Container, Pod
from masthead.errors import (
    DeadlineError,
    ExecClosedError,
    ExecError,
    ExecTimeoutError,
    InternalServerError,
    MastheadError,
    ProtocolError,
    RemoteCommandError,
    ServiceUnavailableError,
)
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now, run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.aio.clientset.core_v1 import Pods
    from masthead.server import ExecProcess, Server

LONG = b"x" * 200_000

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say that a peer is there")


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[Server, Pods[Pod]]]:
    """A server with a pod, and a client of it, in one event loop."""
    async with (
        masthead.server.run(clock=LoopClock()) as server,
        masthead.aio.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        pods = client.core_v1.pods("default")
        await pods.create(Pod.new("web", spec={"containers": [Container(name="app", image="app")]}))
        server.kubelet.start("web")

        @server.kubelet.exec("web", command="mirror")
        async def mirror(process: ExecProcess) -> int:
            while data := await process.stdin.read(2**14):
                await process.stdout.write(data)
            return 3

        yield server, pods


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, len(LONG) + 400))
def test_a_connection_that_breaks_anywhere_is_an_error_or_comes_too_late(after: int) -> None:
    async def main() -> None:
        async with cluster() as (server, pods):
            server.faults.drop_stream(after=after, subresource="exec")
            with pytest.raises(MastheadError) as caught:
                await pods.exec("web", ["mirror"], stdin=LONG)
            error = caught.value
            # The whole output and the exit code, or an error that says that both are unknown.
            if isinstance(error, ExecError):
                assert (error.exit_code, error.stdout) == (3, LONG)
            else:
                assert isinstance(error, ProtocolError)
                assert isinstance(error, RemoteCommandError)
                assert (LONG.startswith(error.stdout), error.stderr) == (True, b"")
            # Nothing is left of it: the next command runs.
            assert (await pods.exec("web", ["mirror"], stdin=b"again", check=False)).stdout == b"again"

    run(main())


@pytest.mark.parametrize("after", [0, 5, 10_000])
@in_virtual_time
async def test_a_connection_that_falls_silent_is_given_up_after_a_minute(after: int) -> None:
    async with cluster() as (server, pods):
        server.faults.silence_stream(after=after, subresource="exec")
        began = now()
        with pytest.raises(DeadlineError, match="sent nothing for 60 s") as caught:
            await pods.exec("web", ["mirror"], stdin=LONG[:20_000])
        assert isinstance(caught.value, ExecTimeoutError)
        assert (LONG.startswith(caught.value.stdout), caught.value.stderr) == (True, b"")
        assert 60 <= now() - began < 65


@on_linux
@in_virtual_time
async def test_a_peer_that_never_reads_on_is_given_up_after_ten_minutes() -> None:
    async with cluster() as (server, pods):
        server.faults.silence_stream(after=0, subresource="exec")
        began = now()
        with pytest.raises(DeadlineError, match="has read nothing for 600 s of what waits for it"):
            await pods.exec("web", ["mirror"], stdin=bytes(20_000_000))
        assert 600 <= now() - began < 800


@on_linux
@in_virtual_time
async def test_a_command_may_leave_its_stdin_unread_for_long() -> None:
    much = bytes(20_000_000)
    async with cluster() as (server, pods):

        @server.kubelet.exec("web", command="pause")
        async def pause(process: ExecProcess) -> None:
            await asyncio.sleep(500)
            count = 0
            while data := await process.stdin.read(2**16):
                count += len(data)
            await process.stdout.write(str(count))

        began = now()
        assert (await pods.exec("web", ["pause"], stdin=much)).text == str(len(much))
        assert now() - began >= 500


@in_virtual_time
async def test_what_a_command_had_printed_is_there_when_its_connection_is_lost() -> None:
    async with cluster() as (server, pods):

        @server.kubelet.exec("web", command="report")
        async def report(process: ExecProcess) -> None:
            await process.stdout.write("half")
            await process.stderr.write("why")
            await asyncio.sleep(10)
            await process.stdout.write("more")

        server.faults.drop_stream(after=20, subresource="exec")  # before all of "more"
        with pytest.raises(ProtocolError) as caught:
            await pods.exec("web", ["report"])
        error = caught.value
        assert isinstance(error, RemoteCommandError)
        assert (error.stdout, error.stderr) == (b"half", b"why")
        assert error.__notes__ == ["The command may still be running in the container."]


@in_virtual_time
async def test_a_close_with_a_code_is_named() -> None:
    async with cluster() as (server, pods):
        server.faults.close_stream(after=100, subresource="exec")
        with pytest.raises(ProtocolError, match=r"exec pods default/web: the server closed the connection"):
            await pods.exec("web", ["mirror"], stdin=LONG)


@pytest.mark.parametrize("message", [b"", b"\x09unknown channel", b"\xff\x01", b"\xff", b"\x00echo of stdin"])
@in_virtual_time
async def test_messages_on_unknown_channels_are_ignored(message: bytes) -> None:
    async with cluster() as (server, pods):
        server.faults.insert_message(message, after=100, subresource="exec")
        result = await pods.exec("web", ["mirror"], stdin=LONG, check=False)
        assert (result.exit_code, result.stdout) == (3, LONG)


@in_virtual_time
async def test_half_a_status_is_not_taken_for_an_end() -> None:
    async with cluster() as (server, pods):
        server.faults.insert_message(b'\x03{"status":"Fail', after=100, subresource="exec")
        with pytest.raises(ProtocolError, match="is not a Status"):
            await pods.exec("web", ["mirror"], stdin=LONG)


@in_virtual_time
async def test_an_upgrade_that_is_refused_is_not_tried_again() -> None:
    async with cluster() as (server, pods):
        for code, error in ((503, ServiceUnavailableError), (500, InternalServerError)):
            server.faults.fail(code, subresource="exec")
            with pytest.raises(error):
                await pods.exec("web", ["mirror"], stdin=b"x")
        assert len([request for request in server.requests if request.path.endswith("/exec")]) == 2


@in_virtual_time
async def test_cancelling_a_command_at_any_turn_of_the_loop_leaves_nothing_behind() -> None:
    async with cluster() as (_, pods):
        before = len(asyncio.all_tasks())
        for turns in [*range(60), *range(60, 400, 20)]:
            running = asyncio.get_running_loop().create_task(pods.exec("web", ["mirror"], stdin=LONG, check=False))
            for _ in range(turns):
                await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait([running])
        await asyncio.sleep(10)  # until the server has noticed
        assert len(asyncio.all_tasks()) <= before + 1  # its handler of one idle connection


@in_virtual_time
async def test_the_end_of_a_client_ends_its_commands() -> None:
    async with (
        cluster() as (server, _),
        masthead.aio.Client(kubeconfig=server.kubeconfig()) as other,
        other.core_v1.pods("default").open_exec("web", ["mirror"], stdin=True) as process,
    ):
        await process.stdin.write(b"x")
        assert await anext(process.stdout) == b"x"
        await other.close()
        with pytest.raises(MastheadError):
            await process.wait()


@in_virtual_time
async def test_what_a_command_had_printed_is_there_when_the_client_is_closed() -> None:
    async with (
        cluster() as (server, _),
        masthead.aio.Client(kubeconfig=server.kubeconfig()) as other,
    ):

        async def pieces() -> AsyncIterator[bytes]:
            yield b"half"
            await asyncio.sleep(10)
            await other.close()
            await asyncio.sleep(10)

        with pytest.raises(ExecClosedError) as caught:
            await other.core_v1.pods("default").exec("web", ["mirror"], stdin=pieces())
        assert (caught.value.stdout, caught.value.stderr) == (b"half", b"")
