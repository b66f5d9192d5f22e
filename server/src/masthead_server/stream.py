"""Streamed responses: watches over HTTP and over WebSockets, large bodies, and the faults that break a watch."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from masthead_server.fault import Effect
from masthead_server.response_limits import LARGE_RESPONSE
from masthead_server.verbs.watch import too_old
from masthead_server.verbs.watch_events import error_line
from masthead_server.web.request_head import BadRequestError
from masthead_server.web.websocket import accept_websocket, split_protocols

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from masthead_server.fault import Fault
    from masthead_server.verbs.watch import Watcher
    from masthead_server.web.request import Request
    from masthead_server.web.response import ResponseStream
    from masthead_server.web.websocket import WebSocket
    from masthead_server.wire.failures import StatusFailure

__all__ = [
    "STREAM_EFFECTS",
    "EventSocket",
    "StreamTruncator",
    "open_stream",
    "send",
    "send_body",
    "send_error_event",
]

STREAM_EFFECTS: Final = (Effect.DROP, Effect.CUT, Effect.SILENCE, Effect.EXPIRE)
_PIECES_PER_TURN: Final = 4
"""Pieces of 64 KiB that a watch sends before others have their turn: it must keep up with the controllers' writes."""
_MAX_IGNORED: Final = 64 * 1024
"""Bytes of a message from the client of a watch, which has nothing to say."""
_HEADERS: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-cache, private"))


class StreamTruncator:
    """Truncates a stream after a number of lines, and reports when its fault is due.

    Args:
        after: How many whole lines are sent.
        cuts: Whether half of the next line is sent, too.
    """

    def __init__(self, after: int, *, cuts: bool) -> None:
        self._left = after
        self._cuts = cuts
        self.rest = b""
        """The lines of the last piece after the fault."""
        self.is_due = not after and not cuts
        """Whether the fault is due."""

    def truncate(self, piece: bytes) -> bytes:
        """Return the part of a piece before the fault."""
        lines = piece.splitlines(keepends=True)
        sent = lines[: self._left]
        self.rest = b"".join(lines[self._left :])
        if self._cuts and len(lines) > self._left:
            following = lines[self._left]
            sent.append(following[: len(following) // 2])
            self.is_due = True
        self._left -= min(self._left, len(lines))
        self.is_due = self.is_due or (not self._cuts and not self._left)
        return b"".join(sent)


async def open_stream(incoming: Request, headers: tuple[tuple[str, str], ...]) -> ResponseStream:
    """Start a stream: send its headers.

    Raises:
        ConnectionError: If the client went away.
    """
    return await incoming.stream(200, (*_HEADERS, *headers))


async def send_body(incoming: Request, code: int, headers: Sequence[tuple[str, str]], body: bytes) -> None:
    """Send a large body piece by piece, as the client reads it, so that no more than a piece is buffered.

    Raises:
        ConnectionError: If the client went away, or took too long to read a piece.
    """
    connection = incoming.connection
    with connection.limit_wait():
        response = await incoming.stream(code, headers, length=len(body))
    view = memoryview(body)
    for start in range(0, len(body), LARGE_RESPONSE):
        with connection.limit_wait():
            await response.write(view[start : start + LARGE_RESPONSE])
    await response.finish()


async def send_error_event(incoming: Request, failure: StatusFailure) -> None:
    """Start a stream, and end it with an error event.

    Raises:
        ConnectionError: If the client went away.
    """
    response = await open_stream(incoming, ())
    await response.write(error_line(failure))
    await response.finish()


class EventWriter(Protocol):
    """Takes the lines of a watch: the body of a response, or a WebSocket."""

    async def write(self, data: bytes) -> None:
        """Send whole lines, or the first part of one."""
        ...

    async def finish(self) -> None:
        """Say that there are no more."""
        ...


class EventSocket:
    """A watch over a WebSocket: every event is a text message. `open` makes one.

    Args:
        socket: The WebSocket.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, incoming: Request) -> EventSocket:
        """Accept the handshake, with the only subprotocol that the client may offer.

        Raises:
            ConnectionError: If the client has disconnected.
            BadRequestError: If the handshake is invalid.
        """
        protocols = split_protocols(incoming.headers.get("Sec-WebSocket-Protocol"))
        # As Go's library: browsers always send an origin, and a server that does not choose echoes the protocol.
        if not urlsplit(incoming.headers.get("Origin")).scheme:
            raise BadRequestError(403, "")
        if len(protocols) > 1:
            raise BadRequestError(400, "")
        return cls(await accept_websocket(incoming, "".join(protocols), max_size=_MAX_IGNORED))

    async def write(self, data: bytes) -> None:
        """Send each line as a message.

        Raises:
            ConnectionError: If the client went away.
        """
        for line in data.splitlines(keepends=True):
            await self._socket.send(line, is_text=True)

    async def finish(self) -> None:
        """Close the connection."""
        await self._socket.close()

    async def run_until_closed(self, sending: Coroutine[object, object, None]) -> None:
        """Run what writes events, until it is done or the client goes away."""
        await self._socket.run_until_closed(sending)


async def send(incoming: Request, response: EventWriter, watch: Watcher, fault: Fault | None) -> None:
    """Send a watch to its end, or until its fault is due.

    Args:
        incoming: The request.
        response: The stream, already started.
        watch: The watch.
        fault: The fault to inject, if any.

    Raises:
        ConnectionError: If the client went away.
    """
    watch.abort = incoming.connection.abort
    spoiler = StreamTruncator(fault.after, cuts=fault.effect is Effect.CUT) if fault else None
    pieces = itertools.count(1)
    while not (spoiler and spoiler.is_due) and (piece := await watch.read()):
        # A piece may hold several lines, of which only some come before the fault.
        sent = spoiler.truncate(piece) if spoiler else piece
        if sent:
            await response.write(sent)
            # Writing does not wait for a client that reads fast enough, and long initial events are many pieces.
            if next(pieces) % _PIECES_PER_TURN == 0:
                await asyncio.sleep(0)
    if not fault or not spoiler or not spoiler.is_due:
        return
    if fault.effect is not Effect.SILENCE:
        await _inject(incoming, response, watch, fault.effect)
        return
    # The watch keeps its place, and its client sees an open connection without data.
    await watch.stay_silent(fault)
    if not watch.ended.is_set():
        await response.write(spoiler.rest)
        await send(incoming, response, watch, None)


async def _inject(incoming: Request, response: EventWriter, watch: Watcher, effect: Effect) -> None:
    if effect is Effect.EXPIRE:
        await response.write(error_line(too_old(watch.cursor, watch.newest)))
    else:
        # Buffered bytes are still sent, but no last chunk: the client notices that the stream broke.
        incoming.connection.close()
