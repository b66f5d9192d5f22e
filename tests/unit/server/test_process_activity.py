"""Processes that compute are told from processes that pause."""

from __future__ import annotations

import asyncio

import pytest

from masthead_server import eager
from masthead_server.process_activity import ProcessActivity


async def _compute(turns: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return turns


async def test_a_process_computes_until_it_waits_for_a_future() -> None:
    activity, pause = ProcessActivity(), asyncio.Event()

    async def work() -> None:
        await _compute(3)
        await pause.wait()
        await _compute(1)

    async with asyncio.TaskGroup() as group:
        group.create_task(activity.observer("work").observe(work()))
        states: list[list[str]] = []
        for _ in range(5):
            await asyncio.sleep(0)
            states.append(activity.computing)
        pause.set()
        states.append(activity.computing)
        steps = activity.steps

    assert states == [["work"]] * 3 + [[], [], ["work"]]
    assert (steps, activity.steps, activity.computing) == (4, 6, [])


async def test_a_process_computes_as_long_as_a_child_does() -> None:
    activity = ProcessActivity()
    observer = activity.observer("parent")

    async def parent() -> int:
        return await asyncio.get_running_loop().create_task(observer.observe(_compute(5)))

    running = asyncio.get_running_loop().create_task(observer.observe(parent()))
    steps = [activity.steps]
    while not running.done():
        await asyncio.sleep(0)
        steps.append(activity.steps)

    assert running.result() == 5
    assert steps[-1] == observer.steps == 8  # two of the parent, six of the child


async def test_errors_and_results_are_those_of_the_coroutine() -> None:
    observer = ProcessActivity().observer("work")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    assert await observer.observe(_compute(2)) == 2
    with pytest.raises(ValueError, match="no"):
        await observer.observe(fail())
    assert not observer.is_computing


async def test_a_cancelled_process_pauses_no_longer_and_ends() -> None:
    activity, cleaned = ProcessActivity(), list[str]()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("wait")

    running = asyncio.get_running_loop().create_task(activity.observer("wait").observe(wait()))
    await asyncio.sleep(0)
    running.cancel()
    assert activity.computing == ["wait"]
    await asyncio.wait((running,))

    assert (running.cancelled(), cleaned, activity.computing) == (True, ["wait"], [])


async def test_a_process_that_is_cancelled_before_its_first_step_is_none() -> None:
    activity = ProcessActivity()
    running = asyncio.get_running_loop().create_task(activity.observer("work").observe(_compute(1)))
    running.cancel()
    await asyncio.wait((running,))

    assert (running.cancelled(), activity.computing) == (True, [])


async def test_a_process_without_a_task_is_observed_up_to_its_first_wait_and_beyond() -> None:
    activity, pause = ProcessActivity(), asyncio.Event()

    async def work() -> int:
        await _compute(10)
        await pause.wait()
        return 1

    running = eager.start(activity.observer("work").observe(work()), pauses=100)
    assert (running.done(), activity.computing) == (False, [])
    pause.set()
    assert activity.computing == ["work"]

    assert await running == 1
    assert activity.computing == []


async def test_work_outside_of_the_loop_is_held_until_its_release() -> None:
    released: list[str] = []
    activity = ProcessActivity(lambda: released.append("idle"))
    release = activity.hold("a thread")
    assert activity.held == ["a thread"]

    release()
    release()

    assert (activity.held, released) == ([], ["idle"])
