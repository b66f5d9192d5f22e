"""Concurrent callers share one run."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.discovery.network import until

from masthead._discovery.single_flight import SingleFlight
from masthead.errors import ConnectError


class Work:
    """Counts its runs, each of which ends on demand."""

    def __init__(self) -> None:
        self.runs = 0
        self.gates: list[asyncio.Future[int]] = []

    async def __call__(self) -> int:
        self.runs += 1
        gate: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.gates.append(gate)
        return await gate

    async def finish(self, run: int, outcome: int | Exception) -> None:
        await until(lambda: len(self.gates) >= run)
        gate = self.gates[run - 1]
        if isinstance(outcome, int):
            gate.set_result(outcome)
        else:
            gate.set_exception(outcome)


async def test_those_who_ask_while_one_is_under_way_share_it() -> None:
    work = Work()
    flights = SingleFlight(work)

    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(flights.run()) for _ in range(5)]
        await work.finish(1, 7)

    assert [caller.result() for caller in callers] == [7] * 5
    assert work.runs == 1


async def test_nothing_is_remembered() -> None:
    work = Work()
    flights = SingleFlight(work)

    async with asyncio.TaskGroup() as group:
        for run in (1, 2):
            caller = group.create_task(flights.run())
            await work.finish(run, run)
            assert await caller == run


async def test_whoever_wants_it_anew_shares_the_next_one() -> None:
    work = Work()
    flights = SingleFlight(work)

    async with asyncio.TaskGroup() as group:
        before = group.create_task(flights.run())
        await until(lambda: work.runs == 1)
        after = [group.create_task(flights.run(after_now=True)) for _ in range(3)]
        await work.finish(1, 1)
        await work.finish(2, 2)

    assert before.result() == 1
    assert [each.result() for each in after] == [2, 2, 2]
    assert work.runs == 2


async def test_a_failure_is_shared_but_each_gets_an_error_of_its_own() -> None:
    work = Work()
    flights = SingleFlight(work)
    failure = ConnectError("no way", verb="GET", attempts=3)

    async def failing() -> ConnectError:
        with pytest.raises(ConnectError, match="no way") as caught:
            await flights.run()
        return caught.value

    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(failing()) for _ in range(3)]
        await work.finish(1, failure)

    errors = [caller.result() for caller in callers]
    assert len({id(error) for error in errors}) == 3
    assert [error.attempts for error in errors] == [3, 3, 3]
    assert work.runs == 1


async def test_cancelling_a_caller_does_not_affect_the_others() -> None:
    work = Work()
    flights = SingleFlight(work)

    async with asyncio.TaskGroup() as group:
        first = group.create_task(flights.run())
        await until(lambda: work.runs == 1)
        second, third = (group.create_task(flights.run()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await work.finish(2, 2)

    assert first.cancelled()
    assert (second.result(), third.result()) == (2, 2)
    assert work.runs == 2
