"""When credentials are renewed, once for all concurrent callers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._auth.renewal import RenewalLock, renewal_time, run_to_completion

times = st.datetimes(timezones=st.just(UTC))


@given(times, times)
def test_a_renewal_is_before_the_expiry_and_never_before_the_issue(expires: datetime, issued: datetime) -> None:
    due = renewal_time(expires, issued)

    assert due is not None
    assert expires - due in (timedelta(0), timedelta(seconds=10))
    assert due > issued or due == expires


def test_without_an_expiry_there_is_no_renewal_time() -> None:
    assert renewal_time(None, datetime(2026, 1, 1, tzinfo=UTC)) is None


async def test_an_unexpected_error_reaches_the_caller_and_blocks_no_other() -> None:
    turns = RenewalLock()
    ran = 0

    async def mistaken() -> None:
        nonlocal ran
        ran += 1
        await asyncio.sleep(0)
        raise ZeroDivisionError

    outcomes = await asyncio.gather(*(turns.run(mistaken) for _ in range(3)), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 3
    assert ran == 3


async def test_the_first_cancellation_waits_for_the_end() -> None:
    started, goes_on, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        await goes_on.wait()
        done.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_to_completion(work()))
        await started.wait()
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        goes_on.set()

    assert task.cancelled()
    assert done.is_set()


async def test_a_failure_after_the_cancellation_is_not_logged() -> None:
    started, goes_on = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        await goes_on.wait()
        raise ZeroDivisionError

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_to_completion(work()))
        await started.wait()
        task.cancel()
        await asyncio.sleep(0)
        goes_on.set()

    assert task.cancelled()


async def test_the_second_cancellation_does_not_wait() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_to_completion(work()))
        await started.wait()
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await ended.wait()

    assert task.cancelled()


async def test_work_that_fails_raises() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_to_completion(work())
