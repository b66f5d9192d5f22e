"""Measures one client of the request benchmark, in a process of its own, and prints what it took as JSON.

    python -m benchmarks.requests.worker installed              which peers there are
    python -m benchmarks.requests.worker small NAME KUBECONFIG  gets and creates, one at a time and 16 at once
    python -m benchmarks.requests.worker list NAME KUBECONFIG   a list of many pods, and what it leaves in memory

CPU time is that of this process, all of its threads. What is imported, made or connected once is not measured.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import gc
import importlib
import itertools
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from benchmarks.harness.contenders import installed
from benchmarks.harness.measure import Figures, positive, resident_bytes
from benchmarks.requests.clients import AT_ONCE, CLIENTS, OURS_UVLOOP

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from benchmarks.requests.clients import AsyncCalls, Calls

WIDTHS: Final = (1, AT_ONCE)
"""How many calls are under way at once."""
_WARM_UP: Final = 0.05
"""Seconds of each kind of call that are not measured."""
_SLICES: Final = 5
"""How often each kind of call is measured; the least counts, because disturbances can only add to it."""


# -- Small calls -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Meter:
    """What a number of calls take, from the start of a block to its end.

    Attributes:
        seconds: For how long to call.
        calls: How many were answered.
        wall: The seconds of one call, as if none were made at once.
        cpu: The seconds of CPU of one call.
    """

    seconds: float
    calls: int = 0
    wall: float = 0.0
    cpu: float = 0.0

    def __enter__(self) -> Self:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = (time.process_time() - self._cpu) / max(self.calls, 1)  # none, if the first one failed
        self.wall = (time.perf_counter() - self._wall) / max(self.calls, 1)

    @property
    def is_over(self) -> bool:
        """Whether no more calls are to be made."""
        return time.perf_counter() - self._wall >= self.seconds


def call_blocking(call: Callable[[], object], width: int, seconds: float) -> Meter:
    """Call for so long, from so many threads, and at least once from each."""

    def work() -> int:
        count, is_over = 0, False
        while not is_over:
            call()
            count += 1
            is_over = meter.is_over
        return count

    if width == 1:
        with Meter(seconds) as meter:
            meter.calls = work()
        return meter
    with ThreadPoolExecutor(width) as threads, Meter(seconds) as meter:
        meter.calls = sum(each.result() for each in [threads.submit(work) for _ in range(width)])
    return meter


async def call_async(call: Callable[[], Awaitable[object]], width: int, seconds: float) -> Meter:
    """Call for so long, from so many tasks, and at least once from each."""

    async def work() -> None:
        is_over = False
        while not is_over:
            await call()
            meter.calls += 1
            is_over = meter.is_over

    with Meter(seconds) as meter:
        if width == 1:
            await work()
        else:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(width):
                    tasks.create_task(work())
    return meter


def small_blocking(calls: Calls, names: Callable[[], str], seconds: float) -> Figures:
    """Measure small calls of a client that blocks."""
    figures: Figures = {}
    kinds: dict[str, Callable[[], object]] = {"get": calls.get, "create": lambda: calls.create(names())}
    for (kind, call), width in itertools.product(kinds.items(), WIDTHS):
        call_blocking(call, width, _WARM_UP)
        meters = [call_blocking(call, width, seconds / _SLICES) for _ in range(_SLICES)]
        figures |= _least(kind, width, meters)
    return figures


async def small_async(calls: AsyncCalls, names: Callable[[], str], seconds: float) -> Figures:
    """Measure small calls of an async client."""
    figures: Figures = {}
    kinds: dict[str, Callable[[], Awaitable[object]]] = {
        "get": calls.get,
        "create": lambda: calls.create(names()),
    }
    for (kind, call), width in itertools.product(kinds.items(), WIDTHS):
        await call_async(call, width, _WARM_UP)
        meters = [await call_async(call, width, seconds / _SLICES) for _ in range(_SLICES)]
        figures |= _least(kind, width, meters)
    return figures


def figure(kind: str, width: int, what: str) -> str:
    """What the figures call the `what` (``wall`` or ``cpu``) of a kind of call."""
    return f"{kind}_{width}_{what}"


def _least(kind: str, width: int, meters: Sequence[Meter]) -> Figures:
    return {
        figure(kind, width, "wall"): min(meter.wall for meter in meters),
        figure(kind, width, "cpu"): min(meter.cpu for meter in meters),
    }


# -- A list ------------------------------------------------------------------------------------------------


class Growth:
    """What a process has taken since a moment: time, and memory."""

    def __init__(self) -> None:
        gc.collect()
        self._resident = resident_bytes(os.getpid())
        _forget_peak()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def so_far(self, prefix: str) -> Figures:
        """Seconds and bytes, under names that begin so; looking at them is not counted the next time."""
        wall, cpu = time.perf_counter(), time.process_time()
        found: Figures = {f"{prefix}wall": wall - self._wall, f"{prefix}cpu": cpu - self._cpu}
        gc.collect()
        found[f"{prefix}peak"] = _less(_peak(), self._resident)
        found[f"{prefix}held"] = _less(resident_bytes(os.getpid()), self._resident)
        self._wall += time.perf_counter() - wall
        self._cpu += time.process_time() - cpu
        return found


def touched(pods: Sequence[Any]) -> int:
    """Read the phase of each pod; returns how many were running."""
    return sum(pod.status.phase == "Running" for pod in pods)


def _measured(growth: Growth, pods: Sequence[Any], count: int) -> Figures:
    figures = growth.so_far("list_")
    running = touched(pods)
    figures |= growth.so_far("touch_")
    if (len(pods), running) != (count, count):
        raise RuntimeError(f"the list should have {count} running pods, and has {running} of {len(pods)}")
    return figures


def list_blocking(calls: Calls, one: str, namespace: str, count: int) -> Figures:
    """Measure a long list of a client that blocks."""
    touched(calls.pods(one))
    growth = Growth()
    return _measured(growth, calls.pods(namespace), count)


async def list_async(calls: AsyncCalls, one: str, namespace: str, count: int) -> Figures:
    """Measure a long list of an async client."""
    touched(await calls.pods(one))
    growth = Growth()
    return _measured(growth, await calls.pods(namespace), count)


def _less(value: int | None, base: int | None) -> float | None:
    return None if value is None or base is None else value - base


def _peak() -> int | None:
    """The most memory that this process has had, where the system reports it."""
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    [line] = (line for line in text.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _forget_peak() -> None:
    with contextlib.suppress(OSError):  # then it is that of the whole process
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


# -- The program -------------------------------------------------------------------------------------------


def _run(options: argparse.Namespace) -> Figures:
    client = CLIENTS[options.client]
    numbers = itertools.count()
    names = functools.partial(_name, f"{options.client.replace('_', '-')}-{os.getpid()}", numbers)
    if client.open is not None:
        with client.open(options.kubeconfig) as calls:
            if options.what == "small":
                return small_blocking(calls, names, options.seconds)
            return list_blocking(calls, options.one, options.namespace, options.count)
    with asyncio.Runner(loop_factory=_loop(options.client)) as runner:
        return runner.run(_run_async(options, names))


async def _run_async(options: argparse.Namespace, names: Callable[[], str]) -> Figures:
    opener = CLIENTS[options.client].open_async
    assert opener is not None
    async with opener(options.kubeconfig) as calls:
        if options.what == "small":
            return await small_async(calls, names, options.seconds)
        return await list_async(calls, options.one, options.namespace, options.count)


def _name(prefix: str, numbers: itertools.count[int]) -> str:
    return f"{prefix}-{next(numbers):07d}"


def _loop(client: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if client != OURS_UVLOOP:
        return None
    uvloop: Any = importlib.import_module("uvloop")
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


def main() -> None:
    """Take the measurements of one client."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("installed", "small", "list"))
    parser.add_argument("client", nargs="?", choices=CLIENTS)
    parser.add_argument("kubeconfig", nargs="?")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each kind of call (small)")
    parser.add_argument("--namespace", default="", help="whose pods (list)")
    parser.add_argument("--one", default="", help="a namespace with one pod (list)")
    parser.add_argument("--count", type=positive, default=1, help="how many there must be (list)")
    options = parser.parse_args()
    print(json.dumps(installed(CLIENTS) if options.what == "installed" else _run(options)), flush=True)
    os._exit(0)  # taking millions of objects down takes as long as making them


if __name__ == "__main__":
    main()
