"""One answer as it comes in: its connection fills it, and whoever asked empties it."""

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
    """What has come of a response so far.

    Nothing here raises what went wrong: it is kept, so that whoever reads hears of it after all that was fine, and in
    a frame of their own.

    Attributes:
        status: The HTTP code; 0 until the whole head has come.
        headers: Their values, by names in lower case. All are there once the status is.
        is_begun: Whether a byte of it has come.
        is_complete: Whether all of it has come.
        fault: Why no more will come, if it is not complete.
        cause: What the operating system said of that.
        held: How many bytes wait for a reader; those that are gathered do not count.
        is_too_large: Whether more came than is to be gathered.
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
        """Whether no more will come."""
        return self.is_complete or self.fault is not None

    # -- For the connection --------------------------------------------------------------------------------

    def put(self, piece: bytes) -> None:
        """Add to the body."""
        if self._whole is None:
            self._pieces.append(piece)
            self.held += len(piece)
        else:
            self._whole.write(piece)
            self.is_too_large = self._whole.tell() > self._limit

    def fail(self, fault: TransportFault, cause: OSError | None = None) -> None:
        """No more will come."""
        self.fault = fault
        self.cause = cause
        self.wake()

    def wake(self) -> None:
        """Tell whoever waits that there is something new; with all to be gathered, the end alone is new."""
        changed = self._changed
        if changed is not None and not changed.done() and (self._whole is None or self.is_over):
            changed.set_result(None)

    # -- For whoever asked ---------------------------------------------------------------------------------

    def changed(self) -> asyncio.Future[None]:
        """Wait for something new. Look first whether it is there already.

        Raises:
            RuntimeError: If somebody else waits for the same response.
        """
        if self._changed is not None and not self._changed.done():
            raise RuntimeError("a response has one reader; another one is waiting for it already")
        self._changed = self._loop.create_future()
        return self._changed

    def take(self) -> bytes:
        """What of the body has come, and was not taken; then there is room for more."""
        pieces = self._pieces
        if not pieces:
            return b""
        taken = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = []
        self.held = 0
        self._connection.resume(self)
        return taken

    async def gather(self, limit: float = math.inf) -> bytes:
        """All of the body that was not taken, or as much of it as came before a fault.

        Args:
            limit: How many bytes there may be; one more is a fault.
        """
        self._limit = limit
        # Its buffer grows in place and becomes the result, where joining pieces would hold everything twice.
        whole = io.BytesIO()
        whole.write(self.take())
        self._whole = whole
        while not self.is_over:
            await self.changed()
        self._whole = None
        return whole.getvalue()

    def drop(self) -> None:
        """Give it up, and its connection with it; does nothing where all has come."""
        if not self.is_over:
            self._connection.give_up(self, TransportFault.CLOSED)
