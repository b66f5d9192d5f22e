"""The controllers' work queue shares the event loop with watches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from masthead_server.clock import SystemClock, VirtualClock
from masthead_server.controllers.queue import ReconcileQueue

if TYPE_CHECKING:
    import pytest


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


async def test_a_key_that_its_own_write_adds_is_not_reconciled_twice_at_a_time() -> None:
    running = 0
    runs: list[int] = []
    idle = asyncio.Event()

    async def reconcile(key: int) -> None:
        nonlocal running
        running += 1
        runs.append(running)
        if len(runs) == 1:
            queue.add(key)  # as the observer of a write does
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running -= 1

    queue: ReconcileQueue[int] = ReconcileQueue(SystemClock(), reconcile, idle.set)
    queue.add(1)
    await asyncio.wait_for(idle.wait(), 30)
    assert runs == [1, 1]
    assert queue.is_idle


async def test_a_key_whose_reconcile_fails_is_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    runs: list[str] = []

    async def reconcile(key: str) -> None:
        runs.append(key)
        if key == "broken":
            raise OverflowError("date value out of range")

    queue: ReconcileQueue[str] = ReconcileQueue(clock, reconcile, lambda: None)
    for key in ("broken", "other"):
        queue.add(key)
    queue.drain()
    assert runs == ["broken", "other"]
    assert "cannot reconcile broken" in caplog.text

    counts = []
    for _ in range(4):
        clock.advance(2, drain=queue.drain)
        counts.append(runs.count("broken"))
    assert counts == [2, 3, 3, 4]
    queue.close()
