"""Which handlers are due for a resync, and when."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.resync import MIN_PERIOD, ResyncSchedule
from masthead.errors import ArgumentError


def ticks(schedule: ResyncSchedule, handler: str, count: int) -> list[float]:
    """Of so many ticks, those at which a handler is due."""
    due: list[float] = []
    for _ in range(count):
        now = schedule.next_check
        assert now is not None
        if handler in schedule.due(now):
            due.append(now)
    return due


class TestPeriods:
    def test_a_handler_gets_the_informers_period_by_default(self) -> None:
        schedule = ResyncSchedule(30)

        assert schedule.join("a", None, now=0) == 30
        assert schedule.join("b", 60, now=0) == 60
        assert schedule.join("c", 0, now=0) == 0
        assert schedule.adjustment == ""

    def test_an_informer_without_a_period_never_resyncs(self) -> None:
        schedule = ResyncSchedule(0)

        assert schedule.join("a", 30, now=0) == 0
        assert "30 s" in schedule.adjustment
        assert "no resync period" in schedule.adjustment
        schedule.start(0)
        assert schedule.next_check is None
        assert schedule.due(1000) == frozenset()

    def test_an_adjusted_period_is_reported_for_the_last_handler(self) -> None:
        schedule = ResyncSchedule(0)
        schedule.join("a", 30, now=0)
        schedule.join("b", None, now=0)

        assert schedule.adjustment == ""

    def test_a_period_is_at_least_a_second(self) -> None:
        schedule = ResyncSchedule(30)

        assert schedule.join("a", 0.1, now=0) == MIN_PERIOD
        assert "every 1 s, the shortest" in schedule.adjustment
        assert schedule.check_period == MIN_PERIOD
        assert ResyncSchedule(0.1).check_period == MIN_PERIOD

    def test_before_the_start_a_shorter_period_lowers_the_check_period(self) -> None:
        schedule = ResyncSchedule(30)
        schedule.join("a", None, now=0)
        assert schedule.join("b", 10, now=0) == 10
        assert schedule.check_period == 10

        schedule.start(0)
        assert schedule.next_check == 10

    def test_after_the_start_a_shorter_period_is_raised_to_the_check_period(self) -> None:
        schedule = ResyncSchedule(30)
        schedule.start(0)

        assert schedule.join("a", 10, now=5) == 30
        assert "has started" in schedule.adjustment
        assert "every 30 s" in schedule.adjustment
        assert schedule.join("b", 45, now=5) == 45
        assert schedule.adjustment == ""
        assert schedule.check_period == 30

    def test_a_longer_period_does_not_move_the_check_period(self) -> None:
        schedule = ResyncSchedule(30)
        schedule.join("a", 3600, now=0)

        assert schedule.check_period == 30

    @pytest.mark.parametrize("period", [-1, math.nan, math.inf])
    def test_an_invalid_period_is_rejected(self, period: float) -> None:
        with pytest.raises(ArgumentError, match="resync period"):
            ResyncSchedule(period)
        with pytest.raises(ArgumentError, match="resync period"):
            ResyncSchedule(10).join("a", period, now=0)


class TestTicks:
    def test_no_resync_is_due_before_the_start(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("a", None, now=0)

        assert schedule.next_check is None
        assert schedule.due(100) == frozenset()

    def test_starting_again_changes_nothing(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.start(0)
        schedule.start(7)

        assert schedule.next_check == 10

    def test_no_handler_is_due_between_ticks(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("a", None, now=0)
        schedule.start(0)

        assert schedule.due(9) == frozenset()
        assert schedule.next_check == 10
        assert schedule.due(10) == {"a"}
        assert schedule.due(11) == frozenset()
        assert schedule.next_check == 20

    def test_an_interval_is_the_period_rounded_up_to_ticks(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("each", None, now=0)
        schedule.join("every second", 11, now=0)
        schedule.join("every third", 30, now=0)
        schedule.join("never", 0, now=0)
        schedule.start(0)

        due = [sorted(map(str, schedule.due(now))) for now in range(10, 70, 10)]
        assert due == [
            ["each"],
            ["each", "every second"],
            ["each", "every third"],
            ["each", "every second"],
            ["each"],
            ["each", "every second", "every third"],
        ]

    def test_a_handler_added_between_ticks_waits_a_whole_period(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.start(0)
        schedule.join("late", None, now=5)

        assert ticks(schedule, "late", 4) == [20, 30, 40]

    def test_a_handler_added_before_the_start_is_due_at_the_first_tick(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("early", None, now=0)
        schedule.start(500)

        assert ticks(schedule, "early", 2) == [510, 520]

    @given(st.floats(0, 1e9, allow_nan=False), st.floats(0, 1e9, allow_nan=False), st.integers(1, 50))
    def test_the_first_resync_is_never_earlier_than_a_period_after_the_start(
        self, joined: float, started: float, times: int
    ) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("a", 10 * times, joined)
        schedule.start(started)

        first, second = ticks(schedule, "a", 2 * times)
        assert first == pytest.approx(started + 10 * times)
        assert second == pytest.approx(started + 20 * times)

    def test_after_a_pause_no_handler_is_due_twice(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("a", None, now=0)
        schedule.start(0)

        assert schedule.due(1000) == {"a"}
        assert schedule.due(1000) == frozenset()
        assert schedule.next_check == 1010

    def test_a_removed_handler_is_not_due(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("a", None, now=0)
        schedule.join("b", 2, now=0)
        schedule.start(0)
        schedule.leave("b")
        schedule.leave("missing")

        assert schedule.check_period == 2
        assert ticks(schedule, "b", 20) == []

    def test_a_handler_that_is_added_again_gets_a_new_period(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("a", None, now=0)
        schedule.start(0)
        schedule.join("a", 0, now=1)

        assert ticks(schedule, "a", 3) == []

    @given(
        st.integers(1, 50),
        st.floats(1, 100, allow_nan=False),
        st.floats(0, 1e6, allow_nan=False),
    )
    def test_rounding_errors_skip_no_tick(self, times: int, check: float, now: float) -> None:
        schedule = ResyncSchedule(check)
        schedule.join("a", check * times, now)
        schedule.start(now)

        due = ticks(schedule, "a", 2 * times)
        assert due == pytest.approx([now + check * times, now + 2 * check * times])

    def test_a_timer_that_fires_early_skips_no_tick(self) -> None:
        schedule = ResyncSchedule(10)
        schedule.join("a", None, now=0)
        schedule.start(0)

        assert schedule.due(10 - 1e-6) == {"a"}
