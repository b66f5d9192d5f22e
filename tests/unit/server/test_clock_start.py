"""A virtual clock begins after the times of the objects that its server starts with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from masthead_server.clock import SystemClock, VirtualClock
from masthead_server.loading.clock_start import begin_after_objects, find_newest_time

DEFAULT = datetime(2026, 1, 1, tzinfo=UTC)
LATE = "2027-05-06T07:08:09Z"
LATE_TIME = datetime(2027, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "found",
    [
        {"metadata": {"creationTimestamp": LATE}},
        {"metadata": {"managedFields": [{"time": "2020-01-01T00:00:00Z"}, {"time": LATE}]}},
        {"status": {"conditions": [{"lastTransitionTime": LATE}]}},
        {"status": {"containerStatuses": [{"state": {"running": {"startedAt": LATE}}}]}},
        {"spec": {"renewTime": "2027-05-06T07:08:09.000000Z"}},
        {"lastTimestamp": LATE, "eventTime": None},
        {"status": {"startTime": "2027-05-06T09:08:09+02:00"}},
    ],
)
def test_times_of_the_past_count(found: dict[str, Any]) -> None:
    assert find_newest_time(found) == LATE_TIME


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"metadata": {"deletionTimestamp": LATE}},
        {"metadata": {"annotations": {"creationTimestamp": LATE}}},
        {"spec": {"startTime": LATE, "activeDeadlineSeconds": 5}},
        {"status": {"notAfter": LATE, "nextScheduleTime": LATE}},
        {"status": {"startTime": "soon", "completionTime": 5, "lastScheduleTime": "2027-05-06"}},
        {"status": {"startTime": "9999-12-31T23:59:59Z"}},
    ],
)
def test_times_of_the_future_and_other_text_do_not_count(found: dict[str, Any]) -> None:
    assert find_newest_time(found) is None


def test_the_clock_begins_in_the_second_after_the_newest_time() -> None:
    clock = VirtualClock()
    stored = msgspec.json.encode({"metadata": {"creationTimestamp": LATE}})[1:]

    begin_after_objects(clock, [{"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}, stored, b"damaged"])

    assert clock.now() == LATE_TIME + timedelta(seconds=1)


def test_older_objects_leave_the_clock_at_its_default() -> None:
    clock = VirtualClock()
    begin_after_objects(clock, [{"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}])
    assert clock.now() == DEFAULT


def test_a_clock_with_a_start_or_a_past_does_not_move() -> None:
    chosen, advanced = VirtualClock(DEFAULT), VirtualClock()
    advanced.advance(1)
    for clock in (chosen, advanced, SystemClock()):
        begin_after_objects(clock, [{"metadata": {"creationTimestamp": LATE}}])
    assert (chosen.now(), advanced.now()) == (DEFAULT, DEFAULT + timedelta(seconds=1))


def test_pending_timers_move_with_the_clock() -> None:
    clock, fired = VirtualClock(), list[datetime]()
    clock.call_later(10, lambda: fired.append(clock.now()))
    clock.begin_after(LATE_TIME)
    clock.advance(60)
    assert fired == [LATE_TIME + timedelta(seconds=11)]
