"""The token bucket compared with a model of its contract."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from masthead._sansio.token_bucket import Reservation, TokenBucket

# Quarters and powers of two: sums of these are exact, so that times can be compared with ==.
RATES = st.sampled_from([0.5, 1.0, 2.0, 4.0])
BURSTS = st.integers(1, 5)
STEPS = st.integers(0, 12).map(lambda quarters: quarters / 4)


def earliest(gone: list[float], now: float, rate: float, burst: int) -> float:
    """The first moment that is not before any other, and at which no window holds more than it may."""
    windows = (start + (len(gone) - index + 1 - burst) / rate for index, start in enumerate(gone))
    return max([now, *gone[-1:], *windows])


@given(RATES, BURSTS, st.lists(STEPS, max_size=40))
def test_each_request_passes_as_early_as_the_limit_allows(rate: float, burst: int, steps: list[float]) -> None:
    bucket, gone, now = TokenBucket(rate, burst), list[float](), 100.0
    for step in steps:
        now += step
        expected = earliest(gone, now, rate, burst)
        place = bucket.reserve(now)
        assert (place.at, place.wait) == (expected, expected - now)
        gone.append(place.at)


class WhoMayGo(RuleBasedStateMachine):
    """Places are taken, used and given back in any order."""

    places: Bundle[Reservation] = Bundle("places")

    @initialize(rate=RATES, burst=BURSTS)
    def begin(self, rate: float, burst: int) -> None:
        self.rate, self.burst, self.now = rate, burst, 0.0
        self.bucket = TokenBucket(rate, burst)
        self.kept: list[Reservation] = []
        self.never_cancelled = TokenBucket(rate, burst)

    @rule(step=STEPS)
    def time_passes(self, step: float) -> None:
        self.now += step

    @rule(target=places, count=st.integers(1, 4))
    def reserve(self, count: int) -> MultipleResults[Reservation]:
        taken = [self.bucket.reserve(self.now) for _ in range(count)]
        for place in taken:
            assert place.at == self.now + place.wait
            assert place.wait >= 0
            assert place.at <= self.never_cancelled.reserve(self.now).at
        self.kept += taken
        return multiple(*taken)

    @rule(place=consumes(places))
    def cancel(self, place: Reservation) -> None:
        self.bucket.cancel(place)
        self.bucket.cancel(place)
        if place in self.kept:
            self.kept.remove(place)

    @rule()
    def all_waiters_cancel(self) -> None:
        for place in [reservation for reservation in self.kept if reservation.at > self.now]:
            self.bucket.cancel(place)
            self.kept.remove(place)
        gone = [reservation.at for reservation in self.kept]
        place = self.bucket.reserve(self.now)
        assert place.at <= max(self.now, *gone, 0.0) + 1 / self.rate
        self.bucket.cancel(place)

    @invariant()
    def no_request_overtakes(self) -> None:
        times = [place.at for place in self.kept]
        assert times == sorted(times)

    @invariant()
    def no_window_holds_more_than_was_promised(self) -> None:
        times = [place.at for place in self.kept]
        for start, end in itertools.combinations(range(len(times)), 2):
            assert end - start + 1 <= self.burst + self.rate * (times[end] - times[start])


WhoMayGo.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
test_a_row_that_people_leave_keeps_its_promise = WhoMayGo.TestCase


def test_the_bucket_starts_full_and_fills_again() -> None:
    bucket = TokenBucket(rate=5, burst=2)

    assert [bucket.reserve(0).wait for _ in range(4)] == pytest.approx([0, 0, 0.2, 0.4])
    assert [bucket.reserve(60).wait for _ in range(3)] == pytest.approx([0, 0, 0.2])


def test_reservations_cancelled_in_any_order_are_undone_once_none_follows() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    places = [bucket.reserve(0) for _ in range(5)]

    for place in places[1:]:
        bucket.cancel(place)

    assert bucket.reserve(0).wait == 1


def test_a_cancelled_reservation_in_the_middle_is_not_reused_by_later_requests() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    _, middle, last = (bucket.reserve(0) for _ in range(3))

    bucket.cancel(middle)

    assert last.at == 2
    assert bucket.reserve(0).at == 3


def test_a_returned_token_is_available_to_the_next_request() -> None:
    bucket = TokenBucket(rate=1, burst=1)

    bucket.cancel(bucket.reserve(0))

    assert bucket.reserve(0).wait == 0


def test_past_reservations_are_forgotten() -> None:
    bucket = TokenBucket(rate=1000, burst=1)
    for now in range(10_000):
        bucket.reserve(float(now))

    assert len(bucket._queue) == 1


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_limit_that_allows_no_request_is_rejected(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="a rate limit needs"):
        TokenBucket(rate, burst)
