"""Which requests are retried, and when."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.retry import MAX_WAIT, GiveUp, ResponseHead, Retry, decide, parse_retry_after
from masthead.errors import ConnectError, DeadlineError, ProtocolError, TransportError

METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"]
READS = ["GET", "HEAD"]
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
OUTCOMES = st.one_of(
    st.builds(ResponseHead, st.integers(100, 599), st.sampled_from(["", "0", "1", "7", "soon"]) | st.text()),
    st.sampled_from([ConnectError("c"), ProtocolError("p"), DeadlineError("d"), TransportError("t")]),
)


def never() -> float:
    return 0.0


def who_retries(outcome: ResponseHead | TransportError, *, stream: bool = False) -> list[str]:
    return [
        method
        for method in METHODS
        if isinstance(decide(method, outcome, attempt=1, random=never, stream=stream), Retry)
    ]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 599])
def test_a_response_with_retry_after_is_retried_for_every_verb(status: int) -> None:
    assert who_retries(ResponseHead(status, "1")) == METHODS
    assert who_retries(ResponseHead(status, "1"), stream=True) == METHODS


@pytest.mark.parametrize("status", [200, 301, 400, 404, 409, 410, 422])
def test_retry_after_is_ignored_on_other_responses(status: int) -> None:
    assert who_retries(ResponseHead(status, "1")) == []


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_without_retry_after_only_reads_are_retried(status: int) -> None:
    assert who_retries(ResponseHead(status)) == READS
    assert who_retries(ResponseHead(status, "rubbish")) == READS
    assert who_retries(ResponseHead(status), stream=True) == []


@pytest.mark.parametrize("status", [500, 501, 505])
def test_a_server_error_is_retried_only_with_retry_after(status: int) -> None:
    assert who_retries(ResponseHead(status)) == []


def test_a_request_that_was_never_sent_is_retried_for_every_verb() -> None:
    assert who_retries(ConnectError("refused")) == METHODS
    assert who_retries(ConnectError("refused"), stream=True) == METHODS


def test_a_request_that_may_have_been_executed_is_retried_only_if_it_is_idempotent() -> None:
    assert who_retries(ProtocolError("cut")) == [*READS, "OPTIONS"]
    assert who_retries(ProtocolError("cut"), stream=True) == []


def test_a_missed_deadline_is_final() -> None:
    assert who_retries(DeadlineError("late")) == []


def waits(outcome: ResponseHead | TransportError, attempts: int = 11) -> list[float]:
    found: list[float] = []
    while True:
        step = decide("GET", outcome, attempt=len(found) + 1, attempts=attempts, random=never)
        if isinstance(step, GiveUp):
            return found
        found.append(step.after)


def test_delays_double_and_retries_end() -> None:
    assert waits(ResponseHead(503)) == pytest.approx([0.1, 0.2, 0.4])
    assert waits(ProtocolError("cut")) == pytest.approx([0.1, 0.2, 0.4])
    assert waits(ConnectError("refused")) == pytest.approx([1, 2, 4])


def test_retry_after_is_followed_ten_times() -> None:
    assert waits(ResponseHead(429, "3")) == [3] * 10
    assert isinstance(decide("GET", ResponseHead(429, "3"), attempt=10, random=never), Retry)
    assert isinstance(decide("GET", ResponseHead(429, "3"), attempt=11, random=never), GiveUp)


def test_the_caller_may_want_fewer_attempts() -> None:
    assert waits(ResponseHead(429, "3"), attempts=3) == [3, 3]
    assert waits(ConnectError("refused"), attempts=1) == []


def test_retry_after_zero_still_waits_a_little() -> None:
    assert waits(ResponseHead(429, "0"), attempts=3) == [0.1, 0.1]


def test_a_retry_after_above_the_limit_is_not_retried() -> None:
    assert waits(ResponseHead(429, str(int(MAX_WAIT))), attempts=2) == [MAX_WAIT]
    answer = decide("GET", ResponseHead(503, "3600"), attempt=1, random=never)
    assert answer == GiveUp("the server asked to retry later, in 3600 seconds, which is too long to wait")


@pytest.mark.parametrize(("remaining", "expected"), [(2.9, GiveUp), (3.0, GiveUp), (3.1, Retry), (None, Retry)])
def test_a_retry_after_the_deadline_is_not_attempted(remaining: float | None, expected: type[Retry | GiveUp]) -> None:
    step = decide("GET", ResponseHead(429, "3"), attempt=1, remaining=remaining, random=never)

    assert isinstance(step, expected)


@given(
    st.sampled_from(METHODS),
    OUTCOMES,
    st.integers(1, 20),
    st.integers(1, 20),
    st.none() | st.floats(0, 20),
    st.booleans(),
    st.floats(0, 1, exclude_max=True),
)
def test_retries_respect_attempts_delays_and_the_deadline(
    method: str,
    outcome: ResponseHead | TransportError,
    attempt: int,
    attempts: int,
    remaining: float | None,
    stream: bool,
    chance: float,
) -> None:
    step = decide(
        method,
        outcome,
        attempt=attempt,
        attempts=attempts,
        remaining=remaining,
        stream=stream,
        random=lambda: chance,
    )

    assert step.why
    if isinstance(step, Retry):
        assert attempt < attempts
        assert 0.1 <= step.after < (math.inf if remaining is None else remaining)
        if isinstance(outcome, ResponseHead):
            assert step.after >= (parse_retry_after(outcome.retry_after, date=outcome.date) or 0)


@pytest.mark.parametrize(
    ("text", "date", "expected"),
    [
        ("0", "", 0.0),
        (" 12 ", "", 12.0),
        ("9" * 5000, "", 1e9),
        ("9" * 9, "", 999_999_999.0),
        ("inf", "", None),
        ("1e400", "", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 1e9),
        ("Sun, 06 Nov 1994 08:49:40 GMT", DATE, 3.0),
        ("Mon, 07 Nov 1994 08:49:37 GMT", DATE, 86400.0),
        ("Sun, 06 Nov 1994 08:49:30 GMT", DATE, 0.0),
        ("Sun, 06 Nov 1994 08:49:40 GMT", "", None),
        ("Sun, 31 Feb 1994 08:49:40 GMT", DATE, None),
        ("Sun, 06 Foo 1994 08:49:40 GMT", DATE, None),
        ("Sun, 06 Nov 0000 08:49:40 GMT", DATE, None),
        ("Sun, 06 Nov 1994 08:49:60 GMT", DATE, None),
        ("", "", None),
        ("-1", "", None),
        ("1.5", "", None),
        ("1e3", "", None),
        ("٣", "", None),
        ("²", "", None),
        ("nan", "", None),
        ("soon", DATE, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_by_the_servers_clock(text: str, date: str, expected: float | None) -> None:
    assert parse_retry_after(text, date=date) == expected


@given(st.text(), st.text())
def test_an_invalid_retry_after_is_ignored(text: str, date: str) -> None:
    seconds = parse_retry_after(text, date=date)

    assert seconds is None or seconds >= 0


@given(st.from_regex(r"[A-Z][a-z]{2}, \d\d (Jan|Feb|Nov) \d{4} \d\d:\d\d:\d\d GMT", fullmatch=True))
def test_invalid_dates_are_ignored(text: str) -> None:
    seconds = parse_retry_after(text, date=DATE)

    assert seconds is None or seconds >= 0
