"""Port-forward over the channels of a WebSocket, as clients outside Go speak it: two channels per port.

The first byte of a message is its channel. Of the n-th port in the query, channel 2n has the bytes, and channel 2n+1
the reason of a failure. The first message of each channel is its port, two bytes long, the low one first. No channel
can be ended alone, so the connection is closed when all have ended.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.kubelet.first_completed import until_first_ends
from masthead_server.kubelet.portforward import forward
from masthead_server.web.byte_queue import ByteQueue
from masthead_server.wire.failures import bad_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.kubelet.portforward import PodPorts
    from masthead_server.web.byte_stream import ByteStream

__all__ = ["CHANNEL_PROTOCOLS", "ChannelSession", "parse_ports"]

CHANNEL_PROTOCOLS: Final = frozenset({"", "v4.channel.k8s.io"})
_MAX_PORTS: Final = 127
"""Two channels each, of the 255 that a byte can name."""


def parse_ports(values: Iterable[str]) -> list[int]:
    """Read the ports in a query.

    Raises:
        StatusFailure: If no port is given, or an invalid one.
    """
    ports: list[int] = []
    for value in values:
        if not value:
            raise bad_request('query parameter "port" cannot be empty')
        for number in value.split(","):
            # The slice keeps `int` from a text of any length.
            if not (number.isascii() and number.isdecimal() and int(number[:6]) < 65536):
                raise bad_request(f"unable to parse {quoted(value)} as a port")
            if not int(number):
                raise bad_request(f"port {quoted(value)} must be > 0")
            ports.append(int(number))
    if not ports:
        raise bad_request('query parameter "port" is required')
    if len(ports) > _MAX_PORTS:
        raise bad_request(f"at most {_MAX_PORTS} ports can be forwarded")
    return ports


class ChannelSession:
    """The forwarded connections of one client, one per port.

    Args:
        carrier: What carries the messages.
        pod: The pod's ports.
        ports: The ports to forward.
    """

    def __init__(self, carrier: ByteStream, pod: PodPorts, ports: list[int]) -> None:
        self._carrier = carrier
        self._pod = pod
        self._ports = ports
        self._has_room = asyncio.Event()
        self._channels = [_Channel(carrier, number, self._has_room.set) for number in range(2 * len(ports))]

    async def run(self) -> None:
        """Forward until all connections have ended, or the client goes away."""
        with suppress(ConnectionError):
            for channel, port in zip(self._channels, self._channel_ports, strict=True):
                await channel.write(port.to_bytes(2, "little"))
        await until_first_ends(self._forward_all(), self._receive())

    async def _forward_all(self) -> None:
        pairs = zip(self._channels[::2], self._channels[1::2], self._ports, strict=True)
        async with asyncio.TaskGroup() as forwarding:
            for data, error, port in pairs:
                forwarding.create_task(forward(data, error, self._pod, port))

    @property
    def _channel_ports(self) -> list[int]:
        return [port for port in self._ports for _ in range(2)]

    async def _receive(self) -> None:
        try:
            while message := await self._carrier.receive():
                number = message[0]
                if number < len(self._channels) and not number % 2:
                    await self._feed(self._channels[number].received, memoryview(message)[1:])
        finally:
            for channel in self._channels:
                channel.received.end(ConnectionResetError("the client is gone"))

    async def _feed(self, queue: ByteQueue, data: memoryview) -> None:
        queue.feed(data)
        while queue.is_full:
            self._has_room.clear()
            await self._has_room.wait()


class _Channel:
    """One channel."""

    def __init__(self, carrier: ByteStream, number: int, on_read: Callable[[], None]) -> None:
        self.received = ByteQueue(lambda _: on_read())
        self._carrier = carrier
        self._head = bytes((number,))

    async def read(self) -> bytes | memoryview:
        return await self.received.read()

    async def write(self, data: bytes | memoryview) -> None:
        await self._carrier.send(self._head + data)

    async def end(self) -> None:
        """A channel cannot end alone; further bytes of the client are dropped."""
        self.received.clear()

    async def reset(self) -> None:
        self.received.clear()

    def discard(self) -> None:
        self.received.clear()
