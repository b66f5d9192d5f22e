"""Small requests that are repeated while they have no answer."""

from __future__ import annotations

import asyncio

import pytest

from masthead._cache.reflector.repeated_request import first_answer
from masthead.errors import DeadlineError, ForbiddenError
from masthead.testing.virtual_time import in_virtual_time, now

LOST = float("inf")
"""The time that a lost request takes."""


class Requests:
    """Answers requests after some seconds each, and times out after 20."""

    def __init__(self, *seconds: float, error: Exception | None = None) -> None:
        self.sent: list[float] = []
        self.reports: list[float] = []
        self.cancelled = 0
        self._seconds = iter(seconds)
        self._error = error

    async def send(self) -> str:
        self.sent.append(now())
        number = len(self.sent)
        seconds = next(self._seconds)
        try:
            await asyncio.sleep(min(seconds, 20.0))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if seconds > 20.0:
            raise DeadlineError("no answer")
        if self._error is not None:
            raise self._error
        return f"answer to request {number}"

    async def first_answer(self) -> str:
        return await first_answer(self.send, repeat_after=5.0, timeout=20.0, on_late=self.reports.append)


@in_virtual_time
async def test_a_request_that_is_answered_soon_is_sent_once() -> None:
    requests = Requests(4.9)

    assert await requests.first_answer() == "answer to request 1"
    assert requests.sent == [0.0]
    assert not requests.reports


@in_virtual_time
async def test_a_lost_request_costs_five_seconds() -> None:
    requests = Requests(LOST, 0.1)

    assert await requests.first_answer() == "answer to request 2"
    assert now() == 5.1
    assert requests.reports == [5.0]
    assert requests.cancelled == 1


@in_virtual_time
async def test_an_answer_that_takes_long_still_counts() -> None:
    requests = Requests(14.0, 14.0, 14.0)

    assert await requests.first_answer() == "answer to request 1"
    assert now() == 14.0
    assert requests.cancelled == 2


@in_virtual_time
async def test_requests_without_any_answer_fail_with_the_first_one() -> None:
    requests = Requests(LOST, LOST, LOST, LOST)

    with pytest.raises(DeadlineError):
        await requests.first_answer()
    assert now() == 20.0
    assert requests.sent == [0.0, 5.0, 10.0, 15.0]
    assert requests.cancelled == 3


@in_virtual_time
async def test_a_repetition_that_is_not_sent_in_time_leaves_the_first_request_alone() -> None:
    sent: list[float] = []

    async def send() -> str:
        sent.append(now())
        if len(sent) > 1:
            raise DeadlineError("not sent: the rate limit delays it beyond its deadline")
        await asyncio.sleep(18)
        return "answer"

    assert await first_answer(send, repeat_after=5.0, timeout=20.0, on_late=lambda _: None) == "answer"
    assert sent == [0.0, 5.0, 10.0, 15.0]


@in_virtual_time
async def test_a_refusal_is_an_answer() -> None:
    requests = Requests(LOST, 0.1, error=ForbiddenError("no", code=403))

    with pytest.raises(ForbiddenError):
        await requests.first_answer()
    assert requests.cancelled == 1


@in_virtual_time
async def test_cancelling_cancels_all_requests() -> None:
    requests = Requests(LOST, LOST, LOST)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(12):
            await requests.first_answer()
    assert requests.cancelled == 3
