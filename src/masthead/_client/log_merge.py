"""Merges the lines of many logs into one sequence.

::

    a task per log ──lines──> its own buffer ──┐ in turn, each buffer whole
    a task per log ──lines──> its own buffer ──┼──> the reader
    a task per log ──pauses while it is full ──┘

A log that floods fills its own buffer and pauses, and with it its connection, so that the node writes no faster than
the reader reads. The others have their turn all the same.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from masthead._client.log_line import LogLine
from masthead._sansio.log_lines import stamp_of

__all__ = ["LogBuffer", "LogMerger"]

_FULL: Final = 256 * 1024
"""How many bytes of a log are buffered."""


class LogBuffer:
    """The lines of one log that wait for the reader.

    Attributes:
        namespace: The pod's namespace.
        pod: The pod's name.
        container: The container's name.
    """

    __slots__ = ("_lines", "_merger", "_size", "_space", "container", "namespace", "pod")

    def __init__(self, merger: LogMerger, namespace: str, pod: str, container: str) -> None:
        self.namespace = namespace
        self.pod = pod
        self.container = container
        self._merger = merger
        self._lines: list[bytes] = []
        self._size = 0
        self._space: asyncio.Future[None] | None = None

    async def put(self, lines: list[bytes]) -> None:
        """Add lines with their timestamps, and wait while the buffer is full."""
        # In the queue once only, however many lines follow.
        if not self._lines:
            self._merger.add_ready(self)
        self._lines += lines
        self._size += sum(map(len, lines))
        # The reader of the log waits, and TCP slows the node down.
        if self._size >= _FULL:
            self._space = asyncio.get_running_loop().create_future()
            await self._space

    def take(self) -> list[LogLine]:
        """Take all lines, and let the log go on."""
        taken, self._lines, self._size = self._lines, [], 0
        if self._space is not None and not self._space.done():
            self._space.set_result(None)
        namespace, pod, container = self.namespace, self.pod, self.container
        made: list[LogLine] = []
        for line in taken:
            length = len(stamp_of(line))
            text = line.decode("utf-8", "replace")
            made.append(LogLine(namespace, pod, container, text[length:], text[: max(0, length - 1)]))
        return made


class LogMerger:
    """The buffers that have lines, in turn; and the end of it all."""

    __slots__ = ("_changed", "_error", "_is_over", "_ready")

    def __init__(self) -> None:
        self._ready: deque[LogBuffer] = deque()
        self._changed: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._is_over = False

    def add_ready(self, buffer: LogBuffer) -> None:
        """Note that a buffer has lines."""
        self._ready.append(buffer)
        self._wake()

    def finish(self, error: Exception | None = None) -> None:
        """No more lines will come. Finishing twice does nothing."""
        if not self._is_over:
            self._is_over, self._error = True, error
            self._wake()

    async def next_lines(self) -> list[LogLine]:
        """The lines of the next buffer; none at the end.

        Raises:
            Exception: The error that has ended it all, behind all lines.
        """
        while not self._ready:
            if self._is_over:
                # Raised once; afterwards the merged log has simply ended.
                error, self._error = self._error, None
                if error is not None:
                    raise error
                return []
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed
        return self._ready.popleft().take()

    def discard(self) -> None:
        """Drop all lines."""
        self._ready.clear()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
