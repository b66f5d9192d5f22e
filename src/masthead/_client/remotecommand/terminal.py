"""The local terminal: raw mode for a remote process, and the previous mode afterwards, whatever happens."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import FrameType
    from typing import Self

__all__ = ["Terminal"]

_READ_SIZE: Final = 2**12
_RESIZE_SECONDS: Final = 0.2
"""The interval of checks of the size. A signal is quicker, but reaches the main thread only."""
_DEADLY: Final = ("SIGTERM", "SIGHUP", "SIGQUIT")
"""Signals that end a process without running what would restore the terminal."""


class Terminal:
    """The terminal of this process, in raw mode within its ``with`` block.

    Input is passed on unchanged: Ctrl-C reaches the remote process, not this one. The terminal is restored when the
    block is left, and if SIGTERM, SIGHUP or SIGQUIT end the process, provided that the block runs in the main
    thread. A handler that the program has for one of these runs with the terminal restored; if it returns, raw mode
    goes on.

    Args:
        source: The file descriptor to read from; that of stdin by default.
        target: The file descriptor to write to; that of stdout by default.

    Raises:
        ArgumentError: On entering, if the source is not a terminal, or the system has none.
    """

    def __init__(self, source: int | None = None, target: int | None = None) -> None:
        self._source = sys.__stdin__.fileno() if source is None and sys.__stdin__ is not None else source or 0
        self._target = sys.__stdout__.fileno() if target is None and sys.__stdout__ is not None else target or 1
        self._settings: list[int | list[bytes | int]] | None = None
        self._is_within = False
        self._handlers: dict[int, Callable[[int, FrameType | None], object] | int] = {}

    def __enter__(self) -> Self:
        try:
            import termios
        except ImportError:  # Windows
            raise ArgumentError("an interactive session needs a POSIX terminal; use exec with stdin") from None
        if not os.isatty(self._source):
            raise ArgumentError(
                "an interactive session needs a terminal as stdin; use exec with stdin", value=self._source
            )
        self._settings = termios.tcgetattr(self._source)
        self._is_within = True
        self._catch_signals()
        self._set_raw()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_within = False  # before all else, so that a signal now does not make it raw again
        self.restore()
        self._settings = None
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers.clear()

    def restore(self) -> None:
        """Take the terminal out of raw mode. Restoring twice does no harm."""
        if self._settings is not None:
            import termios

            with suppress(termios.error):  # the terminal was closed
                # Unread input is for the remote process, not for the shell that follows.
                termios.tcsetattr(self._source, termios.TCSAFLUSH, self._settings)

    @property
    def size(self) -> tuple[int, int]:
        """Its width and height, in characters."""
        try:
            found = os.get_terminal_size(self._target)
        except OSError:  # the output goes elsewhere
            return (80, 24)
        return (found.columns, found.lines)

    async def resizes(self) -> AsyncIterator[tuple[int, int]]:
        """The size now, and after each change."""
        known = None
        while True:
            if (size := self.size) != known:
                known = size
                yield size
            await asyncio.sleep(_RESIZE_SECONDS)

    async def read_input(self) -> AsyncIterator[bytes]:
        """Read input until the terminal is closed."""
        loop = asyncio.get_running_loop()
        while True:
            readable: asyncio.Future[None] = loop.create_future()
            # Only on demand: input typed ahead waits in the terminal.
            loop.add_reader(self._source, _set, readable)
            try:
                await readable
            finally:
                loop.remove_reader(self._source)
            try:
                data = os.read(self._source, _READ_SIZE)
            except OSError:
                return
            if not data:
                return
            yield data

    async def write(self, data: bytes) -> None:
        """Print bytes. In a thread, because a terminal may be stopped."""
        await asyncio.to_thread(_write_all, self._target, data)

    def _set_raw(self) -> None:
        import tty

        tty.setraw(self._source)

    def _catch_signals(self) -> None:
        # Python allows signal handlers in the main thread only.
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _DEADLY:
            number = getattr(signal, name)
            handler = signal.getsignal(number)
            # An ignored signal does nothing; a handler that is not Python's could not be restored.
            if handler is not signal.SIG_IGN and handler is not None:
                self._handlers[number] = handler
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.restore()
        handler = self._handlers.get(number)
        if callable(handler):
            handler(number, frame)
            # The handler of the program may have kept it alive.
            if self._is_within:
                self._set_raw()
        else:
            # The process must die by the signal, so that its parent sees the right status.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _write_all(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
