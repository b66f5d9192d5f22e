"""Measures work queues, in a process of its own, and prints the microseconds of one key as JSON.

    python -m benchmarks.controllers.queue_worker COUNT

Keys are requests, as controllers have them. It is CPU time, of all threads.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time
from typing import TYPE_CHECKING, Final, TypeAlias

import masthead
import masthead.aio
from masthead.workqueue import LOW_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from benchmarks.harness.measure import Figures

Key: TypeAlias = tuple[str, str]
AsyncQueue: TypeAlias = "masthead.aio.WorkQueue[Key]"

_SLICES: Final = 15
"""How often each case is measured; the least counts, because disturbances can only add to it."""


async def in_bulk(queue: AsyncQueue, keys: Sequence[Key]) -> None:
    """Add all keys, then take all, then be done with all: a burst of changes."""
    for key in keys:
        queue.add(key)
    taken = [await queue.get() for _ in keys]
    for key in taken:
        queue.done(key)


async def one_by_one(queue: AsyncQueue, keys: Sequence[Key]) -> None:
    """Add, take and be done with one key after the other: a queue that is nearly empty."""
    for key in keys:
        queue.add(key)
        queue.done(await queue.get())


async def by_priority(queue: AsyncQueue, keys: Sequence[Key]) -> None:
    """The same in bulk, every second key with a low priority."""
    for number, key in enumerate(keys):
        queue.add(key, LOW_PRIORITY if number % 2 else 0)
    taken = [await queue.get() for _ in keys]
    for key in taken:
        queue.done(key)


async def delayed(queue: AsyncQueue, keys: Sequence[Key]) -> None:
    """Add all keys with a delay, take them when it is over."""
    for key in keys:
        queue.add_after(key, 0.000_001)
    for _ in keys:
        queue.done(await queue.get())


async def woken(queue: AsyncQueue, keys: Sequence[Key]) -> None:
    """A worker waits each time, and is woken by the loop."""

    async def work() -> None:
        for _ in keys:
            queue.done(await queue.get())

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work())
        for key in keys:
            queue.add(key)
            await asyncio.sleep(0)


async def from_a_thread(queue: AsyncQueue, keys: Sequence[Key]) -> None:
    """A thread adds keys while the loop takes them."""

    def add() -> None:
        for key in keys:
            queue.add(key)

    thread = threading.Thread(target=add)
    thread.start()
    for _ in keys:
        queue.done(await queue.get())
    thread.join()


async def plain_queue(unused: AsyncQueue, keys: Sequence[Key]) -> None:
    """An `asyncio.Queue`, which knows neither duplicates nor delays, for comparison."""
    del unused
    queue = asyncio.Queue[Key]()
    for key in keys:
        queue.put_nowait(key)
    for _ in keys:
        await queue.get()
        queue.task_done()


def blocking_in_bulk(keys: Sequence[Key]) -> Callable[[], object]:
    """The queue for threads, in one thread."""
    queue = masthead.WorkQueue[Key]()

    def run() -> None:
        for key in keys:
            queue.add(key)
        taken = [queue.get() for _ in keys]
        for key in taken:
            queue.done(key)

    return run


ASYNC_CASES: Final[dict[str, Callable[[AsyncQueue, Sequence[Key]], Awaitable[None]]]] = {
    "bulk": in_bulk,
    "single": one_by_one,
    "priorities": by_priority,
    "delayed": delayed,
    "woken": woken,
    "thread": from_a_thread,
    "plain": plain_queue,
}


async def measured(keys: Sequence[Key]) -> Figures:
    """Measure all cases of the async queue."""
    figures: Figures = {}
    for name, case in ASYNC_CASES.items():
        queue, best = masthead.aio.WorkQueue[Key](), float("inf")
        for _ in range(_SLICES):
            began = time.process_time()
            await case(queue, keys)
            best = min(best, time.process_time() - began)
        figures[name] = 1e6 * best / len(keys)
    return figures


def main() -> None:
    """Take the measurements."""
    keys = [(f"namespace-{number % 50}", f"website-{number}") for number in range(int(sys.argv[1]))]
    gc.collect()
    gc.freeze()
    figures = asyncio.run(measured(keys))
    run, best = blocking_in_bulk(keys), float("inf")
    for _ in range(_SLICES):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    figures["blocking"] = 1e6 * best / len(keys)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
