"""A response while it arrives: filled by its connection, emptied by its reader."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

from masthead._transport.failures import TransportFault

if TYPE_CHECKING:
    import asyncio

    from masthead._transport.connection import Connection

__all__ = ["IncomingResponse"]


class IncomingResponse:
    """The part of a response that has arrived so far.

    A fault is stored, not raised here, so that the reader gets it after all bytes that arrived before it, and
    in its own frame.

    Attributes:
        status: The HTTP status code; 0 until the whole head has arrived.
        headers: The values by lower-case names; complete once the status is set.
        is_begun: Whether a byte of the response has arrived.
        is_complete: Whether the whole response has arrived.
        fault: Why no more will arrive, if it is not complete.
        cause: The operating system's error of the fault.
        held: How many bytes wait for the reader, without those that `gather` collects.
        is_too_large: Whether more arrived than `gather` allows.
    """

    __slots__ = (
        "_changed",
        "_connection",
        "_limit",
        "_loop",
        "_pieces",
        "_whole",
        "cause",
        "fault",
        "headers",
        "held",
        "is_begun",
        "is_complete",
        "is_too_large",
        "status",
    )

    def __init__(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        self.status = 0
        self.headers: dict[bytes, list[bytes]] = {}
        self.is_begun = False
        self.is_complete = False
        self.fault: TransportFault | None = None
        self.cause: OSError | None = None
        self.held = 0
        self.is_too_large = False
        self._connection = connection
        self._limit = math.inf
        self._loop = loop
        self._changed: asyncio.Future[None] | None = None
        self._pieces: list[bytes] = []
        self._whole: io.BytesIO | None = None

    @property
    def is_over(self) -> bool:
        """Whether no more will arrive."""
        return self.is_complete or self.fault is not None

    # Called by the connection:

    def put(self, piece: bytes) -> None:
        """Append to the body."""
        if self._whole is None:
            self._pieces.append(piece)
            self.held += len(piece)
        else:
            self._whole.write(piece)
            self.is_too_large = self._whole.tell() > self._limit

    def fail(self, fault: TransportFault, cause: OSError | None = None) -> None:
        """End the response with a fault."""
        self.fault = fault
        self.cause = cause
        self.wake()

    def wake(self) -> None:
        """Wake the reader; during `gather`, only at the end."""
        changed = self._changed
        if changed is not None and not changed.done() and (self._whole is None or self.is_over):
            changed.set_result(None)

    # Called by the reader:

    def changed(self) -> asyncio.Future[None]:
        """A future for the next change; check for data before waiting for it.

        Raises:
            RuntimeError: If another reader waits for the same response.
        """
        if self._changed is not None and not self._changed.done():
            raise RuntimeError("a response has one reader; another one is waiting for it already")
        self._changed = self._loop.create_future()
        return self._changed

    def take(self) -> bytes:
        """Take the bytes of the body that have arrived, and resume reading if it was paused."""
        pieces = self._pieces
        if not pieces:
            return b""
        taken = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = []
        self.held = 0
        if self._connection.is_paused:
            self._connection.resume(self)
        return taken

    async def gather(self, limit: float = math.inf) -> bytes:
        """Collect the rest of the body, or as much of it as arrived before a fault.

        Args:
            limit: The maximum number of bytes; more is a fault.
        """
        self._limit = limit
        # BytesIO grows in place and shares its buffer with the result, where joining pieces would hold the body twice.
        whole = io.BytesIO()
        whole.write(self.take())
        self._whole = whole
        while not self.is_over:
            await self.changed()
        self._whole = None
        return whole.getvalue()

    def write(self, data: bytes) -> None:
        """Send bytes behind an upgrade; does nothing once it is over."""
        self._connection.write(self, data)

    @property
    def is_backed_up(self) -> bool:
        """Whether too many of these bytes are buffered."""
        return self._connection.is_backed_up

    async def drain(self) -> None:
        """Wait while too many of these bytes are buffered."""
        await self._connection.drain(self)

    def drop(self) -> None:
        """Abandon the response and close its connection, unless it is over."""
        if not self.is_over:
            self._connection.give_up(self, TransportFault.CLOSED)
