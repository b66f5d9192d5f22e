"""How long to wait after failures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.backoff import DEFAULT_BACKOFF, DEFAULT_RETRY, Attempts, Backoff

CHANCES = st.floats(0, 1, exclude_max=True)


def never() -> float:
    return 0.0


def test_delays_double_up_to_the_cap() -> None:
    backoff = Backoff(first=0.8, factor=2.0, cap=5.0)

    assert [backoff.next(0, never) for _ in range(5)] == [0.8, 1.6, 3.2, 5.0, 5.0]


@given(st.lists(CHANCES, min_size=1, max_size=50))
def test_jitter_only_lengthens_and_at_most_doubles(chances: list[float]) -> None:
    plain, spread = Backoff(), Backoff(jitter=1.0)
    chance = iter(chances).__next__
    for _ in chances:
        base = plain.next(0, never)
        assert base <= spread.next(0, chance) <= 2 * base


@given(st.lists(CHANCES, min_size=1, max_size=50))
def test_no_delay_is_longer_than_the_cap(chances: list[float]) -> None:
    backoff = Backoff()
    chance = iter(chances).__next__

    assert all(backoff.next(0, chance) <= 30.0 for _ in chances)


def test_an_outage_of_any_length_neither_overflows_nor_resets_the_delays() -> None:
    backoff = Backoff()
    delays = [backoff.next(now * 60.0, never) for now in range(5000)]

    assert delays[6:] == [30.0] * (5000 - 6)


def test_progress_resets_the_delays() -> None:
    backoff = Backoff()
    backoff.next(0, never)
    backoff.next(10, never)

    backoff.progress(10 + 1.6)

    assert backoff.next(20, never) == 0.8


def test_progress_resets_only_after_reset_after() -> None:
    backoff = Backoff(reset_after=10)
    assert backoff.next(0, never) == 0.8

    backoff.progress(0.8 + 9)
    assert backoff.next(20, never) == 1.6

    backoff.progress(20 + 1.6 + 10)
    assert backoff.next(40, never) == 0.8


def test_a_timer_that_fires_early_does_not_hide_progress() -> None:
    backoff = Backoff()
    backoff.next(0, never)
    backoff.progress(0.79)

    assert backoff.next(1, never) == 0.8


def test_reset_is_possible_at_any_time() -> None:
    backoff = Backoff(reset_after=1000)
    backoff.next(0, never)
    backoff.reset()

    assert backoff.next(0, never) == 0.8


@pytest.mark.parametrize(
    "shape", [{"first": -1.0}, {"factor": 0.5}, {"cap": 0.1}, {"jitter": -1.0}, {"reset_after": -1.0}]
)
def test_invalid_parameters_are_rejected(shape: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a backoff needs"):
        Backoff(**shape)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [(DEFAULT_RETRY, [0.01, 0.01, 0.01, 0.01]), (DEFAULT_BACKOFF, [0.01, 0.05, 0.25])],
)
def test_conflicts_are_retried_with_client_gos_delays(attempts: Attempts, expected: list[float]) -> None:
    assert list(attempts.delays(never)) == pytest.approx(expected)
    longest = list(attempts.delays(lambda: math.nextafter(1, 0)))
    assert longest == pytest.approx([delay * 1.1 for delay in expected])


def test_the_same_attempts_can_be_used_again() -> None:
    assert list(DEFAULT_BACKOFF.delays(never)) == list(DEFAULT_BACKOFF.delays(never))


def test_a_single_attempt_has_nothing_to_wait_for() -> None:
    assert list(Attempts(1, 1.0, 1.0, 0.0).delays(never)) == []
