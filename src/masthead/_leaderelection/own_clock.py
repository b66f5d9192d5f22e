"""The clock by which leases are judged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

__all__ = ["OwnClock"]

_BOOT_TIME: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


class OwnClock:
    """The time of an event loop, and the time during which the machine was suspended.

    The loop's clock stands still while the machine is suspended, but the lease expires.
    differs from client-go: there, such time is not counted, and a holder that wakes up takes its lease for valid.

    Threads: may be read from any thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._suspended = _suspended()
        self._offset = -self._suspended

    def now(self) -> float:
        """The time in seconds."""
        # A lower bound each time, because something may happen between two readings; so the highest is the best.
        self._suspended = max(self._suspended, _suspended())
        return self._loop.time() + self._offset + self._suspended


def _suspended() -> float:
    """Seconds for which the machine was suspended since it was booted, at least; 0 if the system does not say."""
    return time.clock_gettime(_BOOT_TIME) - time.monotonic() if _BOOT_TIME is not None else 0.0
