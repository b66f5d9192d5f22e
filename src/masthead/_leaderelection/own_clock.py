"""The clock by which leases are judged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

__all__ = ["OwnClock", "suspended_seconds"]

_BOOT_TIME: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
_NOISE: Final = 0.05
"""Seconds by which two readings of both clocks may differ without a suspension."""


def suspended_seconds() -> float:
    """Seconds for which the machine was suspended since it was booted, at least; 0 if the system does not say."""
    return time.clock_gettime(_BOOT_TIME) - time.monotonic() if _BOOT_TIME is not None else 0.0


class OwnClock:
    """The time of an event loop, and the time during which the machine was suspended.

    The loop's clock stands still while the machine is suspended, but the lease expires.
    differs from client-go: there, such time is not counted, and a holder that wakes up takes its lease for valid.

    Args:
        loop: The event loop.
        suspended: Returns the seconds for which the machine was suspended since it was booted, at least.

    Threads: may be read from any thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, suspended: Callable[[], float] = suspended_seconds) -> None:
        self._loop = loop
        self._read_suspended = suspended
        # Each reading is a lower bound, because time passes between two clocks; so the highest is the best.
        self._before = self._suspended = max(suspended() for _ in range(3))

    def now(self) -> float:
        """The time in seconds."""
        suspended = self._read_suspended()
        if suspended > self._suspended + _NOISE:
            self._suspended = suspended
        return self._loop.time() + self._suspended - self._before
