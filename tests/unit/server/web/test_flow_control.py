"""Writers of a connection wait for a slow peer, and let others have their turn."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from masthead_server.web.flow_control import FlowControlledProtocol


class GreedyTransport(asyncio.Transport):
    """Takes everything at once, as a TLS transport does whose client is leaving."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.size += len(data)

    def is_closing(self) -> bool:
        return False


async def write_for_ever(protocol: FlowControlledProtocol, piece: bytes) -> None:
    while True:
        protocol.write(piece)
        await protocol.drain()


@pytest.mark.parametrize("size", [1, 9_728, 10_000_000])
async def test_an_endless_writer_learns_that_the_client_has_left(size: int) -> None:
    protocol = FlowControlledProtocol()
    protocol.connection_made(GreedyTransport())

    async def leave() -> None:
        protocol.connection_lost(None)

    with pytest.RaisesGroup(ConnectionResetError):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(write_for_ever(protocol, bytes(size)))
            tasks.create_task(leave())  # begins when the writer lets go of the loop


async def test_a_small_response_is_sent_without_a_turn() -> None:
    protocol = FlowControlledProtocol()
    transport = GreedyTransport()
    protocol.connection_made(transport)
    draining = protocol.drain()
    protocol.write(bytes(1000))

    # A coroutine that suspends would not end at once.
    with suppress(StopIteration):
        draining.send(None)

    assert transport.size == 1000


async def test_a_writer_waits_for_a_slow_client() -> None:
    protocol, transport = FlowControlledProtocol(), GreedyTransport()
    protocol.connection_made(transport)
    protocol.pause_writing()

    async def leave() -> None:
        protocol.connection_lost(None)

    with pytest.RaisesGroup(ConnectionResetError):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(write_for_ever(protocol, b"x"))
            tasks.create_task(leave())
    # The first piece was sent, and the second waits.
    assert transport.size == 1
