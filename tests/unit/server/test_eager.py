"""`eager`: coroutines that run at once, and become a task only when they wait."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from masthead_server import eager
from masthead_server.clock import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.asyncio


def _call_later(seconds: float, call: Callable[[], object]) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(seconds, call)


async def test_a_coroutine_without_a_wait_is_done_at_once() -> None:
    async def answer() -> int:
        return 42

    assert eager.start(answer()).result() == 42


async def test_an_error_before_the_first_wait_is_the_result() -> None:
    async def fail() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        eager.start(fail()).result()


async def test_what_follows_a_wait_runs_as_a_task() -> None:
    steps: list[str] = []
    released = asyncio.Event()

    async def work() -> str:
        steps.append("begun")
        await released.wait()
        await asyncio.sleep(0)
        assert asyncio.current_task() is not None
        steps.append("ended")
        return "done"

    started = eager.start(work())
    assert steps == ["begun"]
    assert not started.done()
    released.set()
    assert await started == "done"
    assert steps == ["begun", "ended"]


async def test_an_error_of_what_is_awaited_reaches_the_coroutine() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        try:
            await future
        except LookupError:
            return "handled"
        return "not raised"

    started = eager.start(work())
    future.set_exception(LookupError())
    assert await started == "handled"


async def test_a_cancelled_coroutine_cleans_up() -> None:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("up")

    started = eager.start(work())
    await asyncio.sleep(0)
    started.cancel()
    with pytest.raises(asyncio.CancelledError):
        await started
    assert cleaned == ["up"]


async def test_background_tasks_are_idle_when_the_last_one_has_ended() -> None:
    idle: list[bool] = []
    tasks = eager.BackgroundTasks(lambda: idle.append(True), _call_later)
    released = asyncio.Event()

    async def wait() -> None:
        await released.wait()

    tasks.run(wait())
    tasks.run(wait())
    assert [tasks.is_idle, idle] == [False, []]
    released.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert [tasks.is_idle, idle] == [True, [True]]


async def test_a_late_error_of_a_background_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    tasks = eager.BackgroundTasks(lambda: None, _call_later)

    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    tasks.run(fail())
    for _ in range(4):
        await asyncio.sleep(0)
    assert "gone" in caplog.text


@pytest.mark.parametrize("pauses", [0, 1])
async def test_failed_work_is_logged_and_tried_again_until_it_succeeds(
    caplog: pytest.LogCaptureFixture, pauses: int
) -> None:
    clock, attempts = VirtualClock(), list[float]()
    start = clock.now()
    tasks = eager.BackgroundTasks(lambda: None, clock.call_later)

    async def work() -> None:
        attempts.append((clock.now() - start).total_seconds())
        for _ in range(pauses):
            await asyncio.sleep(0)
        if len(attempts) < 4:
            raise LookupError("no room")

    tasks.insist(work)
    for _ in range(20):
        for _ in range(4):
            await asyncio.sleep(0)
        clock.advance(1)
    assert attempts == [0, 1, 3, 7]
    assert [record.getMessage() for record in caplog.records] == [
        "a write of the server itself failed; it is tried again later: no room"
    ] * 3


async def test_closing_ends_retries() -> None:
    clock, attempts = VirtualClock(), list[str]()
    tasks = eager.BackgroundTasks(lambda: None, clock.call_later)

    async def work() -> None:
        attempts.append("failed")
        raise LookupError

    tasks.insist(work)
    tasks.close()
    clock.advance(10)
    assert attempts == ["failed"]


async def test_a_cancellation_before_the_first_step_of_the_task_reaches_the_coroutine() -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("cleaned up")

    started = eager.start(work())
    started.cancel()
    await asyncio.wait((started,))

    assert (started.cancelled(), steps) == (True, ["cleaned up"])
