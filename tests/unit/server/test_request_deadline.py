"""The deadline of a request, from its query."""

from __future__ import annotations

import asyncio

import pytest

from masthead_server.request_deadline import meet_deadline, read_timeout
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.request import ApiRequest


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("", 60), ("0s", 60), ("-5s", 60), ("5s", 5), ("1.5s", 1.5), ("100ms", 0.1), ("2m", 60), ("1h", 60)],
    ids=str,
)
def test_a_timeout_is_a_duration_of_at_most_a_minute(value: str, seconds: float) -> None:
    assert read_timeout(ApiRequest("GET", "/", {"timeout": [value]})) == seconds


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("x", 'time: invalid duration "x"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5y", 'time: unknown unit "y" in duration "5y"'),
    ],
    ids=str,
)
def test_a_timeout_that_is_no_duration_is_refused(value: str, problem: str) -> None:
    with pytest.raises(StatusFailure) as raised:
        read_timeout(ApiRequest("GET", "/", {"timeout": [value]}))
    assert raised.value.message == f"invalid timeout specified in the request URL - {problem}"


@pytest.mark.asyncio
async def test_a_response_in_time_is_that_response() -> None:
    assert await meet_deadline(60, asyncio.sleep(0, "done")) == "done"


@pytest.mark.asyncio
async def test_a_response_that_never_comes_is_a_timeout() -> None:
    cancelled = asyncio.Event()

    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    response = await meet_deadline(0, hang())

    assert cancelled.is_set()
    assert not isinstance(response, str)
    assert response.code == 504


@pytest.mark.asyncio
async def test_another_timeout_is_no_deadline() -> None:
    async def fail() -> str:
        raise TimeoutError("of something else")

    with pytest.raises(TimeoutError, match="something else"):
        await meet_deadline(60, fail())
