"""The failures that are measured: what happens to the connection, and how late the watcher sees a change."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from typing import TYPE_CHECKING, Final

from benchmarks.recovery.proxy import FaultyProxy
from benchmarks.recovery.watchers import run_watcher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from pathlib import Path

    from benchmarks.recovery.proxy import WatchCoverage
    from benchmarks.recovery.watchers import Watcher

    Write = Callable[[str], Awaitable[object]]

NAME: Final = "recovery"
"""The ConfigMap that is changed; the server has it before the watcher starts."""
_START_TIMEOUT: Final = 60.0
_SETTLE: Final = 3.0
"""Seconds between the first state and the failure; the streams are quiet by then."""
_SEEN_TIMEOUT: Final = 150.0
"""A change that is not seen after so many seconds counts as never seen."""
_ROLLING_INTERVAL: Final = 6.0
_ROLLING_SERVERS: Final = 3
_IDLE_PERIODS: Final = 6
_MIN_IDLE_RUN: Final = 45.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of one scenario.

    Attributes:
        late: Seconds from the moment at which the server could be reached, and the change had been made, until the
            watcher saw it: one for each change; None for a change that was never seen.
        blind_percent: The percentage of the time without a watch at the proxy.
        watches: How many watches were opened a minute.
    """

    late: tuple[float | None, ...]
    blind_percent: float
    watches: float


class Bench:
    """A watcher behind a proxy, and the writer of the objects that it watches.

    Args:
        proxy: The proxy.
        watcher: The watcher.
        write: Sets the value of the ConfigMap, past the proxy.
    """

    def __init__(self, proxy: FaultyProxy, watcher: Watcher, write: Write) -> None:
        self.proxy = proxy
        self._watcher = watcher
        self._write = write
        self._count = 0
        self._late: list[float | None] = []

    async def change(self) -> tuple[str, float]:
        """Make a change; return its value, and when it was acknowledged."""
        self._count += 1
        value = str(self._count)
        await self._write(value)
        return value, time.monotonic()

    async def measure(self, value: str, since: float) -> None:
        """Wait until a change is seen, and note how late that was."""
        seen = await self._watcher.wait_seen(NAME, value, _SEEN_TIMEOUT)
        self._late.append(None if seen is None else max(0.0, seen - since))

    def outcome(self, coverage: WatchCoverage, began: float) -> Outcome:
        """Sum up."""
        minutes = (time.monotonic() - began) / 60
        return Outcome(tuple(self._late), coverage.blind_percent, coverage.requests / minutes)


def idle_timeout(seconds: float) -> Callable[[Bench], Awaitable[None]]:
    """A load balancer closes connections without traffic; a change is made now and then."""

    async def run(bench: Bench) -> None:
        duration = max(_MIN_IDLE_RUN, _IDLE_PERIODS * seconds)
        # Silence first, then changes at odd moments of the idle period.
        for share in (0.55, 0.25, 0.2):
            await asyncio.sleep(duration * share)
            await bench.measure(*await bench.change())

    return run


def outage(seconds: float) -> Callable[[Bench], Awaitable[None]]:
    """The server refuses connections for some seconds; a change is made meanwhile, and one afterwards."""

    async def run(bench: Bench) -> None:
        await bench.proxy.refuse()
        await asyncio.sleep(seconds / 2)
        value, _ = await bench.change()
        await asyncio.sleep(seconds / 2)
        await bench.proxy.resume()
        back = time.monotonic()
        await bench.measure(value, back)
        await bench.measure(*await bench.change())

    return run


def short_outages(seconds: float, count: int = 3) -> Callable[[Bench], Awaitable[None]]:
    """Several outages in a minute."""

    async def run(bench: Bench) -> None:
        for _ in range(count):
            await outage(seconds)(bench)
            await asyncio.sleep(60 / count - seconds)

    return run


def silent_socket(wait: float) -> Callable[[Bench], Awaitable[None]]:
    """After some seconds the connection stays open, and nothing arrives any more."""

    async def run(bench: Bench) -> None:
        await asyncio.sleep(wait)
        bench.proxy.silence()
        await bench.measure(*await bench.change())

    return run


async def rolling_servers(bench: Bench) -> None:
    """The API servers behind a load balancer are restarted one after the other."""
    for _ in range(_ROLLING_SERVERS):
        bench.proxy.cut()
        await bench.measure(*await bench.change())
        await asyncio.sleep(_ROLLING_INTERVAL)


@contextlib.asynccontextmanager
async def open_bench(
    command: Sequence[str], target: int, write: Write, folder: Path, idle_timeout: float | None
) -> AsyncGenerator[Bench]:
    """Run a watcher behind a proxy of its own, until it is ready and quiet."""
    async with FaultyProxy(target, idle_timeout=idle_timeout).running() as proxy:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(_KUBECONFIG.format(port=proxy.port))
        async with run_watcher(command, kubeconfig) as watcher:
            await watcher.wait_ready(_START_TIMEOUT)
            bench = Bench(proxy, watcher, write)
            await asyncio.sleep(_SETTLE)
            yield bench


async def run_scenario(
    scenario: Callable[[Bench], Awaitable[None]],
    command: Sequence[str],
    target: int,
    write: Write,
    folder: Path,
    *,
    idle_timeout: float | None = None,
) -> Outcome:
    """Run one scenario with one watcher.

    Raises:
        TimeoutError: If the watcher does not start.
    """
    async with open_bench(command, target, write, folder, idle_timeout) as bench:
        coverage = bench.proxy.coverage
        coverage.restart()
        began = time.monotonic()
        await scenario(bench)
        return bench.outcome(coverage, began)


_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
clusters: [{{name: bench, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: bench, user: {{}}}}]
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
current-context: bench
"""
