"""What an operator's worker observes of itself: which objects its handler has seen, how late, and at which cost.

It imports nothing of masthead: the workers of peers use it, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
import time
from array import array
from typing import TYPE_CHECKING, Final

from benchmarks.harness.measure import resident_bytes

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures

END: Final = signal.SIGUSR1
"""Tells a worker to print what it has seen."""
_QUIET_SECONDS: Final = 0.5
"""An operator is quiet if it has taken next to no CPU time for so long."""
_QUIET_SHARE: Final = 0.03
_PATIENCE: Final = 900.0


class Observation:
    """The objects that a handler has been called for.

    Attributes:
        calls: How often it was called.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._names: set[str] = set()
        self._serials: dict[str, int] = {}
        self._delays = array("d")  # not a list: what is measured here must not be what grows
        self._started = time.perf_counter()
        self._cpu = time.process_time()

    def saw(self, name: str, serial: int | None, changed: float | None) -> None:
        """The handler is called for an object, whose spec says which change it was, and when that was made."""
        now = time.monotonic()
        self.calls += 1
        self._names.add(name)
        if serial is not None and changed is not None and self._serials.get(name, 0) < serial:
            self._serials[name] = serial
            self._delays.append(now - changed)

    async def report(self, count: int) -> None:
        """Print what it took until so many objects were seen and all is quiet; then, at a signal, what was seen since.

        Raises:
            TimeoutError: If that takes too long.
        """
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(END, ended.set)
        print(json.dumps(await self._until_quiet(count)), flush=True)
        self.calls = 0
        await ended.wait()
        await self._until_quiet(count)
        print(json.dumps(self._seen()), flush=True)

    async def _until_quiet(self, count: int) -> Figures:
        """Wait until so many objects were seen and next to nothing happens; returns the figures of that moment."""
        async with asyncio.timeout(_PATIENCE):
            while True:
                at_first, figures = time.process_time(), self._figures()
                await asyncio.sleep(_QUIET_SECONDS)
                is_quiet = time.process_time() - at_first < _QUIET_SHARE * _QUIET_SECONDS
                if is_quiet and len(self._names) >= count:
                    return figures

    def _figures(self) -> Figures:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {
            "wall": time.perf_counter() - self._started,
            "cpu": time.process_time() - self._cpu,
            "resident": resident_bytes(os.getpid()),
            "peak": peak * (1 if sys.platform == "darwin" else 1024),
            "calls": self.calls,
        }

    def _seen(self) -> Figures:
        delays = sorted(self._delays) or [0.0]
        return {
            "calls": self.calls,
            "changes": len(self._delays),
            "last_serials": sum(self._serials.values()),
            "p50": 1e3 * delays[len(delays) // 2],
            "p99": 1e3 * delays[min(len(delays) - 1, len(delays) * 99 // 100)],
            "max": 1e3 * delays[-1],
        }
