"""The rate limiters of work queues, rule by rule and compared with naive models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.rate_limiters import (
    BucketRateLimiter,
    FastSlowRateLimiter,
    ItemExponentialRateLimiter,
    MaxOfRateLimiter,
    MaxWaitRateLimiter,
    default_rate_limiter,
)
from masthead._sansio.token_bucket import TokenBucket
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.rate_limiters import QueueRateLimiter

MAKERS: dict[str, Callable[[], QueueRateLimiter[str]]] = {
    "exponential": ItemExponentialRateLimiter[str],
    "fast, slow": lambda: FastSlowRateLimiter(1.0, 10.0, 2),
    "max of": lambda: MaxOfRateLimiter(ItemExponentialRateLimiter[str](), FastSlowRateLimiter[str](1.0, 10.0, 2)),
    "max wait": lambda: MaxWaitRateLimiter(ItemExponentialRateLimiter[str](), 1.0),
    "default": default_rate_limiter,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_failures_are_counted_for_each_key_until_they_are_forgotten(
    make: Callable[[], QueueRateLimiter[str]],
) -> None:
    limiter, fresh = make(), make()
    for _ in range(3):
        limiter.when("a", 0.0)
    limiter.when("b", 0.0)
    assert [limiter.num_requeues(key) for key in "abc"] == [3, 1, 0]

    limiter.forget("a")
    limiter.forget("c")
    assert [limiter.num_requeues(key) for key in "abc"] == [0, 1, 0]
    assert limiter.when("a", 0.0) == fresh.when("a", 0.0)


def test_delays_double_up_to_the_cap() -> None:
    limiter = ItemExponentialRateLimiter[str](1.0, 10.0)

    assert [limiter.when("a", 0.0) for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert limiter.when("b", 0.0) == 1.0


@given(st.floats(1e-6, 1e3), st.floats(1.0, 1e9), st.integers(0, 5_000))
def test_no_number_of_failures_exceeds_the_cap_or_overflows(base: float, times: float, failures: int) -> None:
    limiter = ItemExponentialRateLimiter[str](base, base * times)
    limiter._failures._counts["a"] = failures

    exact = base * 2**failures if failures < 900 else float("inf")
    assert limiter.when("a", 0.0) == min(exact, base * times)


@given(st.floats(0.0, 2.0), st.floats(0.0, 1.0, exclude_max=True), st.integers(1, 12))
def test_jitter_is_a_multiple_of_the_delay_within_the_cap(jitter: float, random: float, failures: int) -> None:
    limiter = ItemExponentialRateLimiter[str](1.0, 100.0, jitter=jitter, random=lambda: random)
    delays = [limiter.when("a", 0.0) for _ in range(failures)]

    assert delays == [min(2.0**n * (1 + jitter * random), 100.0) for n in range(failures)]


def test_the_first_retries_are_fast_and_the_others_slow() -> None:
    limiter = FastSlowRateLimiter[str](0.1, 5.0, 2)

    assert [limiter.when("a", 0.0) for _ in range(4)] == [0.1, 0.1, 5.0, 5.0]
    assert limiter.when("b", 0.0) == 0.1


@given(
    st.sampled_from([0.5, 1.0, 4.0]),
    st.integers(1, 5),
    st.lists(st.integers(0, 12).map(lambda quarters: quarters / 4), max_size=40),
)
def test_a_bucket_limits_all_keys_together(rate: float, burst: int, steps: list[float]) -> None:
    limiter, bucket, now = BucketRateLimiter[int](rate, burst), TokenBucket(rate, burst), 0.0
    for key, step in enumerate(steps):
        now += step
        assert limiter.when(key, now) == bucket.reserve(now).wait
        assert limiter.num_requeues(key) == 0


def test_a_bucket_has_no_state_per_wait() -> None:
    limiter = BucketRateLimiter[int](1.0, 1)
    for key in range(1_000):
        limiter.when(key, 0.0)

    assert len(limiter._bucket._queue) == 0
    assert limiter.when(0, 0.0) == 1_000.0


def test_cancelling_an_earlier_reservation_does_not_return_a_taken_token() -> None:
    bucket = TokenBucket(1.0, 1)
    bucket.reserve(0.0)
    earlier = bucket.reserve(0.0)
    assert bucket.take(0.0) == 2.0

    bucket.cancel(earlier)
    assert bucket.take(0.0) == 3.0


def test_the_longest_delay_of_several_counts_and_all_of_them_count_failures() -> None:
    one, other = FastSlowRateLimiter[str](1.0, 9.0, 1), FastSlowRateLimiter[str](3.0, 5.0, 2)
    limiter = MaxOfRateLimiter(one, other)

    assert [limiter.when("a", 0.0) for _ in range(4)] == [3.0, 9.0, 9.0, 9.0]
    assert (one.num_requeues("a"), other.num_requeues("a"), limiter.num_requeues("a")) == (4, 4, 4)
    limiter.forget("a")
    assert (one.num_requeues("a"), other.num_requeues("a")) == (0, 0)


def test_a_wait_can_be_limited() -> None:
    limiter = MaxWaitRateLimiter(ItemExponentialRateLimiter[str](1.0, 100.0), 3.0)

    assert [limiter.when("a", 0.0) for _ in range(4)] == [1.0, 2.0, 3.0, 3.0]


def test_the_default_limiter_doubles_delays_and_limits_the_rate() -> None:
    limiter = default_rate_limiter()
    delays = [limiter.when("a", 1_000.0 * number) for number in range(20)]
    assert delays[:3] == [0.005, 0.01, 0.02]
    assert delays[-2:] == [1_000.0, 1_000.0]

    limiter = default_rate_limiter()
    waits = [limiter.when(number, 0.0) for number in range(110)]
    assert set(waits[:100]) == {0.005}
    assert waits[100:] == pytest.approx([(number + 1) / 10 for number in range(10)])


@pytest.mark.parametrize(
    "make",
    [
        lambda limit: ItemExponentialRateLimiter[int](max_tracked=limit),
        lambda limit: FastSlowRateLimiter[int](1.0, 2.0, 3, max_tracked=limit),
    ],
)
def test_tracked_failures_are_bounded_to_the_newest(
    make: Callable[[int], ItemExponentialRateLimiter[int] | FastSlowRateLimiter[int]],
) -> None:
    limiter = make(3)
    for key in (1, 2, 3, 1, 4, 5):
        limiter.when(key, 0.0)

    assert [limiter.num_requeues(key) for key in (1, 2, 3, 4, 5)] == [2, 0, 0, 1, 1]
    assert len(limiter._failures) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: ItemExponentialRateLimiter[str](0.0),
        lambda: ItemExponentialRateLimiter[str](2.0, 1.0),
        lambda: ItemExponentialRateLimiter[str](1.0, float("inf")),
        lambda: ItemExponentialRateLimiter[str](jitter=-1.0),
        lambda: ItemExponentialRateLimiter[str](float("nan")),
        lambda: ItemExponentialRateLimiter[str](max_tracked=0),
        lambda: FastSlowRateLimiter[str](-1.0, 1.0, 1),
        lambda: FastSlowRateLimiter[str](1.0, 1.0, -1),
        lambda: BucketRateLimiter[str](0.0, 1),
        lambda: BucketRateLimiter[str](1.0, 0),
        MaxOfRateLimiter[str],
        lambda: MaxWaitRateLimiter(BucketRateLimiter[str](), -1.0),
    ],
)
def test_values_that_make_no_sense_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError):
        make()
