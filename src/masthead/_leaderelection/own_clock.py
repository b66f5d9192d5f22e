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
"""The difference between the two clocks that is not a suspension, in seconds."""


def suspended_seconds() -> float:
    """Return a lower bound of the machine's suspended time since its boot; 0 if the system does not report it."""
    return time.clock_gettime(_BOOT_TIME) - time.monotonic() if _BOOT_TIME is not None else 0.0


class OwnClock:
    """The time of an event loop, and the time during which the machine was suspended.

    The loop's clock does not advance while the machine is suspended, but the lease expires.
    differs from client-go: it ignores suspended time, so that a holder that wakes up believes in its lease.

    Args:
        loop: The event loop.
        suspended: Returns a lower bound of the suspended seconds since the boot.

    Threads: may be read from any thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, suspended: Callable[[], float] = suspended_seconds) -> None:
        self._loop = loop
        self._read_suspended = suspended
        # Time passes between reading the two clocks, so every reading is a lower bound, and the highest the best.
        self._before = self._suspended = max(suspended() for _ in range(3))

    def now(self) -> float:
        """The time in seconds."""
        suspended = self._read_suspended()
        # Noise must not add up: the clock would run ahead of the machine's.
        if suspended > self._suspended + _NOISE:
            self._suspended = suspended
        return self._loop.time() + self._suspended - self._before
