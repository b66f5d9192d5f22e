"""Reconciles that write many objects share the turns of the event loop with watches."""

from __future__ import annotations

import asyncio

from masthead_server.write_turns import WriteTurns


async def test_all_reconciles_together_write_a_limited_number_of_bytes_in_a_turn() -> None:
    written = 0
    turns = WriteTurns(lambda: written)

    async def write_many() -> None:
        nonlocal written
        for _ in range(20):
            await turns.wait()
            written += 4 * 1024

    sizes = []
    async with asyncio.TaskGroup() as group:
        writing = [group.create_task(write_many()) for _ in range(100)]
        while not all(task.done() for task in writing):
            before = written
            await asyncio.sleep(0)
            sizes.append(written - before)
    assert max(sizes) <= (64 + 4) * 1024
    assert sum(sizes) == 100 * 20 * 4 * 1024


async def test_a_few_writes_do_not_wait() -> None:
    turns = WriteTurns(lambda: 0)
    waiting = turns.wait()

    try:
        waiting.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits")
