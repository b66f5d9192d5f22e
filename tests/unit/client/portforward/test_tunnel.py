from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.unit.client.portforward.peer import DATA, ERROR, TARGET, MemorySocket, Peer, Recorder

from masthead._client.portforward.tunnel import PodTunnel
from masthead._spdy.events import StreamOpened
from masthead.errors import ClosedError, PortForwardError, ProtocolError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def idle() -> None:
    """Let everything happen that can happen now."""
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def tunnel(
    recorder: Recorder | None = None,
) -> AsyncIterator[tuple[PodTunnel, Peer, Recorder, asyncio.Task[None]]]:
    """A tunnel that runs, attached if there is a recorder, and the kubelet at its other end."""
    socket = MemorySocket()
    made = PodTunnel(socket, TARGET)
    peer = Peer(socket)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.run())
        if recorder is not None:
            made.attach(8080, recorder)
            await idle()
            peer.accept()
            await idle()
        yield made, peer, recorder or Recorder(), task
        made.abort()


@in_virtual_time
async def test_bytes_go_both_ways_until_both_sides_have_ended() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, task):
        assert [type(event) for event in peer.events[::2]] == [StreamOpened, StreamOpened]
        made.write(b"ping ")
        made.write(bytearray(b"pong"))
        peer.say(b"hello")
        await idle()
        assert (peer.heard, recorder.received) == (b"ping pong", b"hello")
        made.write_eof()
        peer.say(b" again", fin=True)
        await idle()
        assert peer.has_heard_all
        assert not task.done()
        peer.say(stream=ERROR, fin=True)
        await task
        assert (recorder.received, recorder.calls, recorder.error) == (
            b"hello again",
            ["made", "eof", "lost"],
            None,
        )
        assert peer.socket.is_closed
        assert made.error is None


@in_virtual_time
async def test_a_bytearray_may_change_after_it_was_written() -> None:
    async with tunnel(Recorder()) as (made, peer, _, _):
        data = bytearray(b"before")
        made.write(data)
        data[:] = b"after!"
        await idle()
        assert peer.heard == b"before"


@in_virtual_time
async def test_much_is_sent_in_messages_of_bounded_size() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, _):
        made.write(bytes(10**6))
        await idle()
        assert max(map(len, peer.socket.sent)) < 2**16 + 100
        assert len(peer.heard) == 10**6
        assert recorder.calls == ["made", "pause", "resume"]


@in_virtual_time
async def test_writing_is_paused_while_the_peer_does_not_read() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, _):
        peer.socket.may_send.clear()
        for _ in range(6):
            made.write(bytes(2**16))
            await idle()
        assert recorder.calls == ["made", "pause"]
        assert made.get_write_buffer_size() > made.get_write_buffer_limits()[1]
        peer.socket.may_send.set()
        await idle()
        assert recorder.calls == ["made", "pause", "resume"]
        assert made.get_write_buffer_size() == 0


@in_virtual_time
async def test_nothing_is_received_while_reading_is_paused() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, _):
        made.pause_reading()
        assert not made.is_reading()
        for _ in range(10):
            peer.say(b"x")
        await idle()
        # The one that was waited for already.
        assert (recorder.received, peer.socket.unread) == (b"x", 9)
        made.resume_reading()
        await idle()
        assert recorder.received == b"x" * 10


@in_virtual_time
async def test_the_text_of_the_error_stream_ends_the_connection() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, task):
        peer.say(b"connection refused\x1b[31m", stream=ERROR)
        peer.session.reset(DATA)
        peer.flush()
        await task
        assert isinstance(recorder.error, PortForwardError)
        assert str(recorder.error) == "port-forward to pod shop/web, port 8080: connection refused"
        assert (recorder.error.pod, recorder.error.port) == ("shop/web", 8080)
        assert made.error is recorder.error
        assert recorder.calls == ["made", "lost"]


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (None, "the connection to the pod was lost"),
        (ProtocolError("cut off"), "cut off"),
        (b"\x80\x02\0\x01\0\0\0\0", "a SPDY frame of version 2"),
    ],
)
def test_a_lost_connection_is_an_error(end: bytes | Exception | None, problem: str) -> None:
    @in_virtual_time
    async def run() -> None:
        async with tunnel(Recorder()) as (_, peer, recorder, task):
            peer.socket.put(end)
            await task
            assert isinstance(recorder.error, PortForwardError)
            assert f"port-forward to pod shop/web, port 8080: {problem}" in str(recorder.error)
            assert peer.socket.is_aborted

    run()


@in_virtual_time
async def test_a_closed_client_ends_the_connection_as_closed() -> None:
    async with tunnel(Recorder()) as (_, peer, recorder, task):
        peer.socket.put(ClosedError("closed"))
        await task
        assert isinstance(recorder.error, ClosedError)


@in_virtual_time
async def test_a_node_that_does_not_accept_the_connection_is_given_up_after_30_seconds() -> None:
    socket = MemorySocket()
    made, recorder = PodTunnel(socket, TARGET), Recorder()
    made.attach(8080, recorder)
    await made.run()
    await idle()
    assert now() == pytest.approx(30.0)
    assert "has not accepted the connection for 30 seconds" in str(recorder.error)


@in_virtual_time
async def test_a_connection_that_was_accepted_may_be_silent_for_hours() -> None:
    async with tunnel(Recorder()) as (_, peer, recorder, task):
        await asyncio.sleep(100_000)
        assert not task.done()
        peer.say(b"there")
        await idle()
        assert recorder.received == b"there"


@in_virtual_time
async def test_closing_sends_what_was_written_and_waits_for_the_ports_own_end() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, task):
        made.write(b"last words")
        made.close()
        made.close()
        made.write(b"too late")
        assert made.is_closing()
        await idle()
        assert (peer.heard, peer.has_heard_all) == (b"last words", True)
        peer.say(b"nobody reads this")
        peer.say(fin=True)
        peer.say(stream=ERROR, fin=True)
        await task
        assert (recorder.received, recorder.calls, recorder.error) == (b"", ["made", "lost"], None)
        assert now() == 0.0


@in_virtual_time
async def test_closing_takes_a_second_at_most_once_all_is_sent() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, task):
        peer.socket.may_send.clear()
        made.write(b"slow")
        made.close()
        await asyncio.sleep(60)
        assert not task.done()
        peer.socket.may_send.set()
        await task
        assert now() == pytest.approx(61.0)
        assert recorder.error is None
        assert peer.socket.is_aborted


@in_virtual_time
async def test_an_end_that_the_protocol_does_not_outlive_closes_the_connection() -> None:
    async with tunnel(Recorder(keeps_open=False)) as (made, peer, _, _):
        peer.say(fin=True)
        await idle()
        assert made.is_closing()
        assert peer.has_heard_all


@in_virtual_time
async def test_an_abort_is_no_failure() -> None:
    async with tunnel(Recorder()) as (made, peer, recorder, task):
        made.abort()
        await task
        await idle()
        assert (recorder.calls, recorder.error, made.error) == (["made", "lost"], None, None)
        made.write(b"x")
        made.write_eof()
        made.close()
        assert peer.heard == b""


@in_virtual_time
async def test_an_abort_ends_a_paused_connection_too() -> None:
    async with tunnel(Recorder()) as (made, peer, _, task):
        made.pause_reading()
        peer.say(b"x")
        await idle()
        made.abort()
        await task


@in_virtual_time
async def test_cancelling_drops_the_connection() -> None:
    async with tunnel(Recorder()) as (_, peer, recorder, task):
        task.cancel()
        await asyncio.wait([task])
        await idle()
        assert peer.socket.is_aborted
        assert recorder.calls == ["made", "lost"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


@in_virtual_time
async def test_an_idle_tunnel_answers_pings_and_can_be_used_until_it_is_lost() -> None:
    async with tunnel() as (made, peer, _, task):
        usable = [made.is_usable]
        peer.session.ping()
        peer.flush()
        await idle()
        assert len(peer.socket.sent) == 1
        with pytest.raises(RuntimeError, match="not attached"):
            made.get_protocol()
        peer.socket.put(None)
        await task
        assert [*usable, made.is_usable] == [True, False]
        assert str(made.error) == "port-forward to pod shop/web: the server has closed the connection"


@in_virtual_time
async def test_a_connection_that_gets_a_tunnel_which_was_just_lost_is_closed() -> None:
    async with tunnel() as (made, peer, recorder, task):
        peer.socket.put(ProtocolError("the connection ended"))
        await task
        made.attach(8080, recorder)
        await idle()
        assert recorder.calls == ["made", "lost"]
        assert isinstance(recorder.error, PortForwardError)


@in_virtual_time
async def test_an_idle_tunnel_is_dismissed_politely() -> None:
    async with tunnel() as (made, peer, _, task):
        await made.dismiss()
        await task
        assert peer.socket.is_closed
        assert made.error is None
    async with tunnel() as (made, peer, _, task):
        made.close()
        await task
        assert not peer.socket.is_closed


@in_virtual_time
async def test_a_protocol_with_a_buffer_of_its_own_gets_all_bytes() -> None:
    class Buffered(asyncio.BufferedProtocol):
        received = b""
        buffer = bytearray(3)

        def get_buffer(self, sizehint: int) -> bytearray:
            assert sizehint
            return self.buffer

        def buffer_updated(self, nbytes: int) -> None:
            self.received += self.buffer[:nbytes]

    async with tunnel(Recorder()) as (made, peer, _, _):
        protocol = Buffered()
        made.set_protocol(protocol)
        assert made.get_protocol() is protocol
        made.set_write_buffer_limits(0)
        assert made.can_write_eof()
        peer.say(b"0123456789")
        await idle()
        assert protocol.received == b"0123456789"


async def test_a_message_of_many_tiny_frames_lets_other_tasks_run() -> None:
    turns = 0
    async with tunnel(Recorder()) as (_, peer, recorder, _):
        peer.socket.put((DATA.to_bytes(4) + bytes(4)) * 100_000)
        peer.say(b"end")
        for turns in range(1000):  # noqa: B007 - used behind the loop
            if recorder.received == b"end":
                break
            await asyncio.sleep(0)
    assert 20 <= turns < 999
