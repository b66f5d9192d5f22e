"""Flow control in both directions of a connection."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, cast

__all__ = ["FlowControlledProtocol", "abort_connection"]

_MAX_BYTES_AT_ONCE: Final = 512 * 1024
"""Bytes that a writer sends before other tasks have their turn."""


def abort_connection(transport: asyncio.BaseTransport) -> None:
    """Abort a connection, whatever is still to be sent."""
    with suppress(AttributeError):  # of early 3.11, where a TLS connection that was closed has lost its protocol
        cast("asyncio.Transport", transport).abort()


class FlowControlledProtocol(asyncio.Protocol):
    """A connection whose writers wait for a slow peer, and whose readers can pause a fast one.

    Attributes:
        loop: The event loop.
        transport: The connection itself, or what injects faults into it; None when it is lost.
        writing_paused: Whether the peer reads too slowly.
    """

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self.writing_paused = False
        self._drainers: dict[asyncio.Future[None], None] = {}
        self._pause_count = 0
        self._sent_at_once = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the signature is asyncio's
        """Release the writers, with an error."""
        self.transport = None
        for drainer in self._drainers:
            if not drainer.done():
                drainer.set_exception(ConnectionResetError("the client went away"))

    def pause_writing(self) -> None:
        """Let writers wait."""
        self.writing_paused = True

    def resume_writing(self) -> None:
        """Release the writers."""
        self.writing_paused = False
        for drainer in self._drainers:
            if not drainer.done():
                drainer.set_result(None)

    @property
    def remote(self) -> str:
        """The client's address; empty if it is unknown."""
        peer: object = self.transport.get_extra_info("peername") if self.transport is not None else None
        return str(cast("tuple[object, ...]", peer)[0]) if isinstance(peer, tuple) else ""

    def write(self, data: bytes | memoryview) -> None:
        """Send bytes.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        transport = self.transport
        # asyncio drops writes to a closing transport, with a warning after some of them.
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client went away")
        transport.write(data)
        self._sent_at_once += len(data)

    async def drain(self) -> None:
        """Wait while the client reads too slowly, and let other tasks have their turn now and then.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        if not self.writing_paused:
            # A transport may take everything, as one over TLS does whose client is leaving. Without a turn, the loop
            # would never learn of that, and an endless writer would hold it for ever.
            if self._sent_at_once > _MAX_BYTES_AT_ONCE:
                self._sent_at_once = 0
                await asyncio.sleep(0)
            return
        self._sent_at_once = 0
        drainer = self.loop.create_future()
        self._drainers[drainer] = None
        try:
            await drainer
        finally:
            self._drainers.pop(drainer, None)

    def pause_reading(self) -> None:
        """Read no more for now; every pause needs a `resume_reading`."""
        self._pause_count += 1
        if self._pause_count == 1 and self.transport is not None:
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again, unless another pause lasts."""
        self._pause_count -= 1
        if not self._pause_count and self.transport is not None:
            self.transport.resume_reading()

    def close(self) -> None:
        """Close the connection once all is sent."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Abort the connection, whatever is still to be sent."""
        if self.transport is not None:
            abort_connection(self.transport)
