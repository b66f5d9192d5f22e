"""A server in a process of its own that measures how long its event loop was blocked, and its memory.

``python -m tests.server.metered_server`` runs one and answers on its own pipes: ``reset`` forgets, ``report`` prints
what was measured since. Time is CPU time of the loop's thread, so that a busy machine does not count; memory is the
peak of what is resident, which the kernel keeps.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import re
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKEN = "let-me-in"


@dataclass(frozen=True)
class Measured:
    """The cost of a request.

    Attributes:
        hold: Seconds of CPU for which the loop was held at a stretch, at most.
        growth: Bytes by which the process grew at its largest.
    """

    hold: float
    growth: int


class DiedError(Exception):
    """The server's process has ended, which no request may bring about."""


class Metered:
    """The server in its process, as its parent sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._to, self._from = process.stdin, process.stdout
        self.url = self._from.readline().strip()
        self._resident = 0

    def reset(self) -> None:
        """Begin to measure."""
        self._resident = self._ask("reset")["resident"]

    def report(self) -> Measured:
        """The measurements since the last reset."""
        found = self._ask("report")
        return Measured(found["hold"], max(0, found["peak"] - self._resident))

    def _ask(self, command: str) -> dict[str, Any]:
        with suppress(BrokenPipeError):
            self._to.write(f"{command}\n")
            self._to.flush()
        if not (response := self._from.readline()):
            raise DiedError(f"the server died, with code {self._process.wait()}")
        found: dict[str, Any] = json.loads(response)
        return found


@contextmanager
def metered() -> Iterator[Metered]:
    """Run a server for the length of a block."""
    command = [sys.executable, "-m", "tests.server.metered_server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Metered(process)
        finally:
            process.kill()
            with suppress(BrokenPipeError):  # what it did not read is of no interest
                assert process.stdin is not None
                process.stdin.close()


def can_measure() -> bool:
    """Whether this machine's kernel provides the figures; Linux does."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


class _Meter:
    """Measures the loop of this process."""

    def __init__(self) -> None:
        self.hold = 0.0

    def watch(self, run: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
        """Have every callback of the loop measured."""

        def measured(handle: asyncio.Handle) -> None:
            began = time.thread_time()
            try:
                run(handle)
            finally:
                self.hold = max(self.hold, time.thread_time() - began)

        return measured

    def respond(self, trim: Callable[[int], int]) -> None:
        """Execute the commands of the parent until its pipe is closed."""
        for line in sys.stdin:
            if line.strip() == "reset":
                trim(0)  # or memory that is free already would hide what the next request takes
                Path("/proc/self/clear_refs").write_text("5")
                self.hold = 0.0
            print(json.dumps({"hold": self.hold, **_memory()}), flush=True)


def _memory() -> dict[str, int]:
    status = Path("/proc/self/status").read_text()
    resident, peak = (re.search(rf"{name}:\s+(\d+)", status) for name in ("VmRSS", "VmHWM"))
    assert resident is not None
    assert peak is not None
    return {"resident": int(resident[1]) * 1024, "peak": int(peak[1]) * 1024}


async def _serve() -> None:
    meter = _Meter()
    callbacks: Any = asyncio.Handle
    callbacks._run = meter.watch(callbacks._run)
    async with masthead.server.run(token=TOKEN, seed=1, clock=VirtualClock) as server:
        print(server.url, flush=True)
        trim = ctypes.CDLL(None).malloc_trim
        await asyncio.to_thread(meter.respond, trim)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve())
