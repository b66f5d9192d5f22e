"""Bounds what controllers write before requests and watches have their turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WriteTurns"]

_TURN_BYTES: Final = 64 * 1024
"""With the batch of the controllers' queue, less than half of what a watch sends in its turn. With more, watches would
fall behind until their history is compacted, however fast their clients read."""


class WriteTurns:
    """Turns of the event loop, in each of which reconciles that write many objects may write a limited number.

    Args:
        count_written: Returns how many bytes have been written so far.
    """

    def __init__(self, count_written: Callable[[], int]) -> None:
        self._count_written = count_written
        self._start: int | None = None

    async def wait(self) -> None:
        """Return in a turn in which more may be written, which is often the present one."""
        while True:
            written = self._count_written()
            if self._start is None:
                self._start = written
                asyncio.get_running_loop().call_soon(self._end)
            if written - self._start <= _TURN_BYTES:
                return
            # Again after the turn: others that wait may have used it up.
            await asyncio.sleep(0)

    def _end(self) -> None:
        self._start = None
