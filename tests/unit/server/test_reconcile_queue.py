"""The controllers' work queue shares the event loop with watches."""

from __future__ import annotations

import asyncio

from masthead_server.clock import SystemClock
from masthead_server.controllers.queue import ReconcileQueue


async def test_batch_ends_when_it_has_written_half_of_what_a_watch_sends_in_its_turn() -> None:
    written = 0
    idle = asyncio.Event()

    async def reconcile(_key: int) -> None:
        nonlocal written
        written += 10 * 1024

    queue: ReconcileQueue[int] = ReconcileQueue(SystemClock(), reconcile, idle.set, lambda: written)
    for key in range(20):
        queue.add(key)
    sizes = []
    while not idle.is_set():
        before = written
        await asyncio.sleep(0)
        sizes.append(written - before)
    assert max(sizes) == 4 * 10 * 1024
    assert sum(sizes) == 20 * 10 * 1024
