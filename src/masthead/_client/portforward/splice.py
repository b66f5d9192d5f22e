"""Two transports, connected to each other: what one receives, the other sends."""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import socket

    from masthead._client.portforward.tunnel import PodTunnel

__all__ = ["LocalEnd", "Splice", "forward_socket"]


class Splice(asyncio.Protocol):
    """The protocol of a transport whose bytes go to another one.

    Each direction ends separately. A side that is slow to send holds up the reading of the other; a lost side ends
    the other.

    Args:
        other: The other transport, with its own splice.
    """

    def __init__(self, other: asyncio.Transport) -> None:
        self._other = other

    def data_received(self, data: bytes) -> None:
        """Send bytes on the other side."""
        if not self._other.is_closing():
            self._other.write(data)

    def eof_received(self) -> bool:
        """End the sending direction of the other side, and keep the rest open."""
        if not self._other.is_closing():
            self._other.write_eof()
        return True

    def pause_writing(self) -> None:
        """Hold up the other side: this one sends too slowly."""
        if not self._other.is_closing():
            self._other.pause_reading()

    def resume_writing(self) -> None:
        """Let the other side go on."""
        if not self._other.is_closing():
            self._other.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the other side: after all that it has to send, unless this one has failed."""
        # An error on one side becomes a reset on the other, and not a clean end.
        if exc is None:
            self._other.close()
        else:
            self._other.abort()


class LocalEnd(Splice):
    """The protocol of a local connection, which is forwarded to a port when it opens.

    Args:
        tunnel: The tunnel, not attached yet.
        port: The port of the pod.

    Attributes:
        closed: Set when the local connection is closed, and all is sent.
    """

    def __init__(self, tunnel: PodTunnel, port: int) -> None:
        super().__init__(tunnel)
        self.closed = asyncio.Event()
        self._tunnel = tunnel
        self._port = port
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect the tunnel to the port."""
        self._transport = transport
        self._tunnel.attach(self._port, Splice(cast("asyncio.Transport", transport)))

    def eof_received(self) -> bool:
        """End the sending direction of the tunnel; both, if what arrives cannot be read any more."""
        # The client has closed both directions, so that no answer is wanted any more.
        if self._transport is not None and _is_hung_up(self._transport.get_extra_info("socket")):
            self._tunnel.close()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the tunnel."""
        super().connection_lost(exc)
        self.closed.set()


async def forward_socket(tunnel: PodTunnel, port: int, local: socket.socket) -> None:
    """Forward a local connection through a tunnel that runs already, until it is over.

    Args:
        tunnel: The tunnel, not attached yet.
        port: The port of the pod.
        local: The local connection; it is closed in the end.

    Raises:
        PortForwardError: If the connection to the port has failed.
        OSError: If the local connection cannot be used.
    """
    loop = asyncio.get_running_loop()
    end = LocalEnd(tunnel, port)
    transport: asyncio.BaseTransport | None = None
    try:
        local.setblocking(False)
        transport, _ = await loop.connect_accepted_socket(lambda: end, local)
        await end.closed.wait()
    except BaseException:
        tunnel.abort()
        if isinstance(transport, asyncio.Transport):
            transport.abort()
        else:
            local.close()
        raise
    if tunnel.error is not None:
        raise tunnel.error


def _is_hung_up(local: socket.socket | None) -> bool:
    """Whether the other end of a socket pair is closed in both directions; of TCP, that is unknown."""
    # Windows has no poll; the connection then ends when the pod ends it.
    if local is None or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(local, select.POLLHUP)
    return any(events & select.POLLHUP for _, events in poll.poll(0))
