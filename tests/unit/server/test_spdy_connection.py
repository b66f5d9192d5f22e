"""SPDY connections of clients, over a carrier that is under control."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from masthead._spdy.events import GoneAway, StreamData
from masthead._spdy.session import SpdySession
from masthead_server.kubelet.spdy import SpdyConnection
from masthead_server.web.byte_queue import QUEUE_LIMIT, ByteQueue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._spdy.events import SpdyEvent
    from masthead_server.kubelet.spdy import SpdyStream

PIECE = b"x" * 65536


class Carrier:
    """Hands over what a client sends, and keeps what it is sent."""

    def __init__(self) -> None:
        self.client = SpdySession(is_client=True)
        self.coming: asyncio.Queue[bytes] = asyncio.Queue()
        self.taken = 0
        self.events: list[SpdyEvent] = []
        self.is_closed = False

    def send_from_client(self) -> None:
        self.coming.put_nowait(self.client.data_to_send())

    async def receive(self) -> bytes:
        piece = await self.coming.get()
        self.taken += len(piece)
        return piece

    async def send(self, data: bytes) -> None:
        self.events += self.client.receive(data)

    async def close(self) -> None:
        self.is_closed = True
        self.coming.put_nowait(b"")


async def settle() -> None:
    """Let all tasks do what they can."""
    for _ in range(50):
        await asyncio.sleep(0)


class Peer:
    """A connection that runs, and the streams that its client has opened."""

    def __init__(self) -> None:
        self.carrier = Carrier()
        self.streams: list[SpdyStream] = []
        self.connection = SpdyConnection(self.carrier, self._accept)

    def _accept(self, stream: SpdyStream) -> bool:
        self.streams.append(stream)
        return True

    async def open(self) -> SpdyStream:
        self.carrier.client.open_stream({})
        self.carrier.send_from_client()
        await settle()
        return self.streams[-1]


@asynccontextmanager
async def running() -> AsyncIterator[Peer]:
    peer = Peer()
    async with asyncio.TaskGroup() as group:
        group.create_task(peer.connection.run())
        yield peer
        peer.carrier.coming.put_nowait(b"")


async def test_a_client_is_held_back_while_a_stream_is_not_read() -> None:
    async with running() as peer:
        stream = await peer.open()
        for _ in range(20):
            peer.carrier.client.send_data(stream.stream_id, PIECE)
            peer.carrier.send_from_client()
        await settle()
        assert QUEUE_LIMIT <= stream.received.size <= QUEUE_LIMIT + len(PIECE)
        read = 0
        while read < 20 * len(PIECE):
            read += len(await stream.read())
        assert not stream.received.size


async def test_a_client_is_held_back_by_many_streams_together() -> None:
    async with running() as peer:
        streams = [await peer.open() for _ in range(100)]
        for _ in range(3):
            for stream in streams:
                peer.carrier.client.send_data(stream.stream_id, PIECE)
                peer.carrier.send_from_client()
        await settle()
        for _ in range(10):
            await settle()
        assert sum(stream.received.size for stream in streams) <= 8 * 1024 * 1024 + len(PIECE)
        for stream in streams:
            stream.discard()


async def test_a_stream_that_is_not_wanted_any_more_holds_nobody_back() -> None:
    async with running() as peer:
        stream, other = await peer.open(), await peer.open()
        for _ in range(20):
            peer.carrier.client.send_data(stream.stream_id, PIECE)
            peer.carrier.send_from_client()
        peer.carrier.client.send_data(other.stream_id, b"hello")
        peer.carrier.send_from_client()
        await settle()
        stream.discard()
        assert bytes(await other.read()) == b"hello"


async def test_what_a_client_breaks_ends_every_stream() -> None:
    async with running() as peer:
        stream = await peer.open()
        peer.carrier.coming.put_nowait(b"\xff" * 100)
        with pytest.raises(ConnectionResetError):
            await stream.read()


async def test_a_reset_stream_can_neither_be_read_nor_written() -> None:
    async with running() as peer:
        stream = await peer.open()
        peer.carrier.client.send_data(stream.stream_id, b"lost")
        peer.carrier.client.reset(stream.stream_id)
        peer.carrier.send_from_client()
        await settle()
        with pytest.raises(ConnectionResetError):
            await stream.read()
        with pytest.raises(BrokenPipeError):
            await stream.write(b"x")
        await stream.end()
        await stream.reset()


async def test_a_connection_that_is_closed_says_so_and_reads_on_until_the_client_has_closed_it() -> None:
    async with running() as peer:
        stream = await peer.open()
        await stream.write(b"bye")
        await stream.end()
        async with asyncio.TaskGroup() as group:
            closing = group.create_task(peer.connection.close())
            await settle()
            assert not closing.done()
            peer.carrier.client.send_data(stream.stream_id, PIECE)
            peer.carrier.send_from_client()
            await settle()
            assert not stream.received.size
            peer.carrier.coming.put_nowait(b"")
        assert peer.carrier.is_closed
        data = [bytes(event.data) for event in peer.carrier.events if isinstance(event, StreamData)]
        assert data == [b"bye"]
        assert isinstance(peer.carrier.events[-1], GoneAway)


async def test_a_queue_ends_after_what_is_queued() -> None:
    queue = ByteQueue(lambda _: None)
    assert queue.feed(b"one")
    queue.end(ConnectionResetError("broken"))
    assert not queue.feed(b"two")
    assert await queue.read() == b"one"
    with pytest.raises(ConnectionResetError, match="broken"):
        await queue.read()


async def test_a_queue_that_is_cleared_ends_at_once() -> None:
    dropped: list[int] = []
    queue = ByteQueue(dropped.append)
    queue.feed(b"one")
    queue.clear()
    assert dropped == [3]
    assert await queue.read() == b""
