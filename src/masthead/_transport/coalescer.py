"""Reads a busy stream in large pieces.

A server that writes one event at a time fills the socket in pieces of a few kilobytes. A client that is
faster than the server then wakes up for each of them: 13,800 reads for 20,000 pods, and twice the CPU time of
reading the same bytes in 1,500 reads. So while a stream is busy, the kernel is configured to report the socket
readable only once there is enough (``SO_RCVLOWAT``), and a timer takes that back as soon as less arrives::

             several busy windows in a row
    EAGER ─────────────────────────────────> GATHERING ──bytes arrived, timer continues┐
      ^                                       │     ^                                  │
      └───nothing arrived within a window─────┘     └──────────────────────────────────┘

A stream that is not busy is not affected: the first byte of an event wakes the reader. At the end of a burst,
the last bytes are delayed by one window at most. Nothing is buffered here: bytes stay in the kernel, whose
limits hold.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["ReadCoalescer", "can_coalesce"]

_WINDOW_S: Final = 0.002
"""The length of a window, and the longest time that bytes wait in the kernel."""
_BUSY_BYTES: Final = 2**15
"""How many bytes make a window a busy one: 16 MB/s."""
_BUSY_WINDOWS: Final = 4
"""After how many busy windows in a row to gather. A short response is over by then, and is not delayed."""
_LOW_WATER_MARK: Final = 2**16
"""How many bytes to gather. Larger reads save little more, and would make the kernel enlarge the socket's buffer."""
_FIRST_KERNEL: Final = (4, 18)
"""The first Linux that wakes a poller when the mark is lowered below the number of buffered bytes."""


class OptionSocket(Protocol):
    """The part of a socket that loops show of theirs."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        """Set an option."""
        ...


class ReadCoalescer:
    """Decides for one connection when reads are worth gathering, and makes the kernel do it.

    Args:
        loop: The connection's event loop.
        connected: The connection's socket.
    """

    __slots__ = ("_arrived", "_began", "_busy_windows", "_loop", "_socket", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, connected: OptionSocket) -> None:
        self._loop = loop
        self._socket = connected
        self._arrived = 0
        self._began = -_WINDOW_S
        self._busy_windows = 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_gathering(self) -> bool:
        """Whether the kernel gathers bytes now."""
        return self._timer is not None

    def add(self, nbytes: int, now: float) -> None:
        """Note that bytes of a stream were read."""
        if self._timer is not None:
            self._arrived += nbytes
            return
        age = now - self._began
        if age > _WINDOW_S:
            # A window that was not busy, or one without any byte in between, ends the streak.
            if self._arrived < _BUSY_BYTES or age > 2 * _WINDOW_S:
                self._busy_windows = 0
            self._began, self._arrived = now, 0
        was_busy = self._arrived >= _BUSY_BYTES
        self._arrived += nbytes
        if self._arrived >= _BUSY_BYTES and not was_busy:
            self._busy_windows += 1
            if self._busy_windows >= _BUSY_WINDOWS:
                self._gather()

    def stop(self) -> None:
        """Report the socket readable at the first byte again: the stream is over."""
        self._busy_windows = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._set_mark(1)

    def _gather(self) -> None:
        self._set_mark(_LOW_WATER_MARK)
        self._wait()

    def _wait(self) -> None:
        self._arrived = 0
        self._timer = self._loop.call_later(_WINDOW_S, self._on_timer)

    def _on_timer(self) -> None:
        if self._arrived:
            self._wait()
            return
        # Less than the mark arrived. It is read now; if it is enough for a busy window, gathering continues.
        self._timer = None
        self._began, self._arrived = self._loop.time(), 0
        self._busy_windows = _BUSY_WINDOWS - 1
        self._set_mark(1)

    def _set_mark(self, nbytes: int) -> None:
        with suppress(OSError):  # the socket was closed
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, nbytes)


def can_coalesce(platform: str = sys.platform, release: str | None = None) -> bool:
    """Whether the kernel takes the mark back in time.

    Elsewhere a lowered mark may go unnoticed until the next byte arrives, so that the last event of a burst
    would wait.

    Args:
        platform: As in `sys.platform`.
        release: The kernel's release; None for this machine's.
    """
    if platform != "linux":
        return False
    found = re.match(r"(\d+)\.(\d+)", os.uname().release if release is None else release)
    return found is not None and (int(found[1]), int(found[2])) >= _FIRST_KERNEL
