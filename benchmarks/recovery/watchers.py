"""The programs whose recovery is measured, and the lines that they print.

A watcher is a process that watches the ConfigMaps of the namespace ``default``. It finds the server by the environment
variable ``KUBECONFIG``, and prints lines to its standard output, each flushed at once::

    ready                  the first state has arrived
    seen NAME VALUE        for each ADDED or MODIFIED event: the object's name, and the value of ``n`` in its data

It recovers from everything by itself, and runs until its standard input is closed or it is terminated.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

from benchmarks.harness.measure import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

CLIENT_GO: Final = "MASTHEAD_CLIENT_GO_BENCH"
"""The environment variable with the path of a client-go program that is a watcher with the argument ``recovery``."""
_PRINT_KOPF_VERSION: Final = "from importlib import metadata; print(metadata.version('kopf'))"


@dataclasses.dataclass(frozen=True)
class Contender:
    """A watcher to measure.

    Attributes:
        name: Its name in the JSON.
        title: Its name in the table.
        command: The command line.
        is_ours: Whether the targets are for it.
    """

    name: str
    title: str
    command: tuple[str, ...]
    is_ours: bool = False


def find_contenders(peers_python: str = sys.executable) -> list[Contender]:
    """List the watchers that can be measured here."""
    found = [
        Contender(
            "masthead",
            "masthead",
            (sys.executable, "-m", "benchmarks.recovery.masthead_watcher"),
            is_ours=True,
        )
    ]
    if program := os.environ.get(CLIENT_GO):
        found.append(Contender("client_go", "client-go", (program, "recovery")))
    if version := find_kopf(peers_python):
        command = (peers_python, "-m", "benchmarks.recovery.kopf_watcher")
        found.append(Contender("kopf", f"kopf {version}", command))
    return found


def find_kopf(python: str) -> str:
    """Return the version of kopf that an interpreter has; empty without one."""
    done = subprocess.run(
        (python, "-c", _PRINT_KOPF_VERSION), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
    )
    return done.stdout.decode().strip()


class Watcher:
    """A running watcher, and when it has seen which value."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._seen: dict[tuple[str, str], float] = {}
        self._news = asyncio.Event()
        self._is_ready = asyncio.Event()

    async def read(self) -> None:
        """Read what it prints until it ends."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            now = time.monotonic()
            match line.decode().split():
                case ["ready"]:
                    self._is_ready.set()
                case ["seen", name, value]:
                    self._seen.setdefault((name, value), now)
                    self._news.set()
                case _:
                    pass

    async def wait_ready(self, seconds: float) -> None:
        """Wait for the first state.

        Raises:
            TimeoutError: If it does not arrive in time.
        """
        async with asyncio.timeout(seconds):
            await self._is_ready.wait()

    async def wait_seen(self, name: str, value: str, seconds: float) -> float | None:
        """Wait until a value is seen; return when that was, or None if it takes too long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (name, value) not in self._seen:
                    self._news.clear()
                    await self._news.wait()
        return self._seen.get((name, value))


@contextlib.asynccontextmanager
async def run_watcher(command: Sequence[str], kubeconfig: Path) -> AsyncGenerator[Watcher]:
    """Run a watcher during the block."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    watcher = Watcher(process)
    reading = asyncio.get_running_loop().create_task(watcher.read())
    try:
        yield watcher
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await reading
