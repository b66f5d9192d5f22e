"""The streams of a command: stdin with back-pressure, outputs, and the size of its terminal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._module import set_module
from masthead_server.argument_checks import check_type

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

__all__ = ["OutputStream", "StdinPipe", "TerminalSize", "TerminalSizes", "as_bytes"]

_STDIN_LIMIT: Final = 64 * 1024
"""Bytes of stdin after which the client has to wait until the command reads them."""
_PIECE: Final = 32 * 1024
"""Bytes of output per message, as a kubelet copies them."""


@set_module("masthead.server")
class TerminalSize(NamedTuple):
    """The size of a terminal, in characters."""

    width: int
    height: int


class StdinPipe:
    """The stdin of a command: what a client sends is fed, what the command has not read yet holds the client back.

    Attributes:
        reader: The end that the command reads.
    """

    def __init__(self) -> None:
        self.reader: Final = asyncio.StreamReader(limit=_STDIN_LIMIT)
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_closed = False
        # The reader pauses and resumes the transport that feeds it; this is all that it needs of one.
        self.reader.set_transport(_Valve(self._has_room))

    @property
    def is_closed(self) -> bool:
        """Whether the stdin has ended."""
        return self._is_closed

    async def feed(self, data: bytes) -> None:
        """Hand data to the command; waits while it has too much to read already. After `close` it is dropped."""
        # Asked again after the wait: `close` releases writers, too.
        await self._has_room.wait()
        if data and not self._is_closed:
            self.reader.feed_data(data)

    def close(self) -> None:
        """End the stdin, and release writers that wait."""
        if not self._is_closed:
            self._is_closed = True
            self.reader.feed_eof()
            self._has_room.set()


class _Valve(asyncio.Transport):
    """Opens and closes as a reader pauses and resumes."""

    def __init__(self, is_open: asyncio.Event) -> None:
        super().__init__()
        self._is_open = is_open

    def pause_reading(self) -> None:
        self._is_open.clear()

    def resume_reading(self) -> None:
        self._is_open.set()


@set_module("masthead.server")
class OutputStream:
    """The stdout or stderr of a command.

    Args:
        send: Sends a piece to the client, and waits while it reads too slowly.
    """

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send

    async def write(self, data: bytes | str) -> None:
        """Write bytes, or text as UTF-8; waits while the client reads too slowly.

        Raises:
            BrokenPipeError: If the client has disconnected.
        """
        whole = as_bytes(data)
        # Nearly all writes are small, and are sent without a copy.
        if len(whole) <= _PIECE:
            await self._send(whole)
            return
        for start in range(0, len(whole), _PIECE):
            await self._send(whole[start : start + _PIECE])


class TerminalSizes:
    """The sizes that a client's terminal has had: the last one, and a wait for the next."""

    def __init__(self) -> None:
        self.last: TerminalSize | None = None
        self._has_changed = asyncio.Event()
        self._is_closed = False

    def put(self, size: TerminalSize) -> None:
        """Take a new size."""
        self.last = size
        self._has_changed.set()

    def close(self) -> None:
        """There are no more sizes."""
        self._is_closed = True
        self._has_changed.set()

    async def __aiter__(self) -> AsyncIterator[TerminalSize]:
        """Iterate over the sizes from the present one on; a slow reader gets only the newest."""
        # The present size counts as a change for a reader that begins.
        if self.last is not None:
            self._has_changed.set()
        while True:
            await self._has_changed.wait()
            if self._is_closed:
                return
            self._has_changed.clear()
            if self.last is not None:
                yield self.last


def as_bytes(data: bytes | str) -> bytes:
    """Encode text as UTF-8, and leave bytes as they are.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(data, str):
        return data.encode()
    # A number would become that many zero bytes.
    check_type("output", data, bytes | bytearray | memoryview, "text or bytes")
    return bytes(data)
