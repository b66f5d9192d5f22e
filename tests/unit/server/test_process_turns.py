"""Processes of thousands of containers share the event loop with requests."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial

from masthead_server.clock import VirtualClock
from masthead_server.process_turns import TurnClock, TurnQueue


def _do_nothing() -> None:
    pass


async def test_calls_are_made_immediately_while_there_are_few() -> None:
    turns, made = TurnQueue(_do_nothing), list[int]()
    for number in range(64):
        turns.run(partial(made.append, number))
    assert made == list(range(64))
    assert turns.is_idle


async def test_many_calls_are_made_in_slices_and_in_order() -> None:
    turns, made, sizes = TurnQueue(_do_nothing), list[int](), list[int]()
    for number in range(200):
        turns.run(partial(made.append, number))
    while not turns.is_idle:
        sizes.append(len(made))
        await asyncio.sleep(0)
    assert sizes == [64, 128, 192]
    assert made == list(range(200))


async def test_a_call_does_not_overtake_those_that_wait() -> None:
    turns, made = TurnQueue(_do_nothing), list[int]()
    for number in range(65):
        turns.run(partial(made.append, number))
    turns.run(lambda: made.append(65))
    await asyncio.sleep(0)
    assert made == list(range(66))


async def test_waiting_calls_are_work_until_the_last_one_is_made() -> None:
    idle: list[int] = []
    made: list[int] = []
    turns = TurnQueue(lambda: idle.append(len(made)))
    for number in range(130):
        turns.run(partial(made.append, number))
    states: list[bool] = []
    for _ in range(3):
        states.append(turns.is_idle)
        await asyncio.sleep(0)
    assert states == [False, False, True]
    assert idle == [130]


async def test_a_cancelled_wait_does_not_delay_the_others() -> None:
    turns = TurnQueue(_do_nothing)
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(turns.wait()) for _ in range(100)]
        await asyncio.sleep(0)
        waits[80].cancel()
    assert [wait.cancelled() for wait in waits] == [number == 80 for number in range(100)]


async def test_a_closed_queue_makes_no_more_calls() -> None:
    turns, made = TurnQueue(_do_nothing), list[int]()
    for number in range(100):
        turns.run(partial(made.append, number))
    turns.close()
    await asyncio.sleep(0)
    assert made == list(range(64))


async def test_timers_of_the_same_moment_fire_in_slices() -> None:
    clock, turns, fired = VirtualClock(), TurnQueue(_do_nothing), list[int]()
    paced = TurnClock(clock, turns)
    for number in range(100):
        paced.call_later(1, partial(fired.append, number))
    before = paced.now()
    clock.advance(1)
    assert paced.now() - before == timedelta(seconds=1)
    assert fired == list(range(64))
    await asyncio.sleep(0)
    assert fired == list(range(100))


async def test_a_cancelled_timer_takes_no_turn() -> None:
    clock, fired = VirtualClock(), list[int]()
    TurnClock(clock, TurnQueue(_do_nothing)).call_later(1, lambda: fired.append(1)).cancel()
    clock.advance(1)
    assert not fired
