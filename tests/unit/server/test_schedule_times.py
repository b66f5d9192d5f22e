"""The times of schedules, also on days that have 23 or 25 hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.controllers.batch.missed_starts import find_missed_starts, seconds_to_next_start
from masthead_server.controllers.batch.schedule_times import ScheduleTimes, load_zone
from masthead_server.resources.builtin.batch.cron_schedule import CronSchedule, ScheduleError, parse_schedule

NEW_YORK = ZoneInfo("America/New_York")
MINUTE = timedelta(minutes=1)


def times(schedule: str, zone: str = "") -> ScheduleTimes:
    loaded = load_zone(zone)
    assert loaded is not None
    return ScheduleTimes(parse_schedule(schedule), loaded)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron_job(last: str) -> dict[str, object]:
    return {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}, "status": {"lastScheduleTime": last}}


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2026-01-01T10:00:59.5", "2026-01-01T10:01:00"),
        ("0/15 * * * *", "2026-01-01T10:45:00", "2026-01-01T11:00:00"),
        ("20-35/15 * * * *", "2026-01-01T10:20:00", "2026-01-01T10:35:00"),
        ("0 0 1 feb *", "2026-02-01T00:00:00", "2027-02-01T00:00:00"),
        # Weekday and day of the month are alternatives, unless one of them is a star.
        ("0 0 13 * fri", "2026-01-01T00:00:00", "2026-01-02T00:00:00"),
        ("0 0 * * fri", "2026-01-02T00:00:00", "2026-01-09T00:00:00"),
        ("0 0 */2 * fri", "2026-01-02T00:00:00", "2026-01-03T00:00:00"),
        ("0 0 */1 * fri", "2026-01-02T00:00:00", "2026-01-09T00:00:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("@monthly", "2026-12-01T00:00:00", "2027-01-01T00:00:00"),
        ("@every 1h30m", "2026-01-01T00:00:00.75", "2026-01-01T01:30:00"),
        ("@every 1.5h", "2026-01-01T00:00:00", "2026-01-01T01:30:00"),
        ("@every 10ms", "2026-01-01T00:00:00", "2026-01-01T00:00:01"),
        ("@every -5m", "2026-01-01T00:00:00", "2026-01-01T00:00:01"),
    ],
)
def test_the_next_time_of_a_schedule_is_the_first_that_matches(schedule: str, after: str, expected: str) -> None:
    assert times(schedule).next(moment(after)) == moment(expected)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        # On March 8, 2026, the clocks of New York go from 2:00 to 3:00.
        ("30 2 * * *", "2026-03-07T02:30", "2026-03-09T02:30"),
        ("0 3 * * *", "2026-03-07T03:00", "2026-03-08T03:00"),
        ("0 * * * *", "2026-03-08T01:00", "2026-03-08T03:00"),
        # On November 1, they go from 2:00 to 1:00.
        ("0 1 * * *", "2026-10-31T01:00", "2026-11-01T01:00"),
        ("0 2 * * *", "2026-11-01T00:30", "2026-11-01T02:00"),
        ("0 0 * * *", "2026-10-31T12:00", "2026-11-01T00:00"),
    ],
)
def test_a_schedule_follows_the_clocks_of_its_zone(schedule: str, after: str, expected: str) -> None:
    found = times(schedule, "America/New_York").next(datetime.fromisoformat(after).replace(tzinfo=NEW_YORK))
    assert found == datetime.fromisoformat(expected).replace(tzinfo=NEW_YORK).astimezone(UTC)


def test_an_hour_that_comes_twice_has_two_times() -> None:
    both = times("0 1 * * *", "America/New_York")
    first = both.next(moment("2026-11-01T00:00"))
    assert first is not None
    assert first == moment("2026-11-01T05:00")
    assert both.next(first) == moment("2026-11-01T06:00")


def test_a_day_without_midnight_begins_at_one_o_clock() -> None:
    # On November 4, 2018, the clocks of São Paulo went from midnight to 1:00.
    found = times("0 * 4 11 *", "America/Sao_Paulo").next(moment("2018-11-01T00:00"))
    assert found == moment("2018-11-04T03:00")


@pytest.mark.parametrize("schedule", ["0 0 31 2 *", "0 0 30 feb *", "0 0 31 4,6,9,11 *"])
def test_a_schedule_that_never_comes_has_no_next_time(schedule: str) -> None:
    assert times(schedule).next(moment("2026-01-01T00:00")) is None


def test_there_is_no_zone_of_an_unknown_or_unsafe_name() -> None:
    assert [load_zone(name) for name in ("Nowhere/Land", "../etc/passwd", "America")] == [None, None, None]


@given(
    minutes=st.sampled_from(["*", "0", "*/7", "5-9,50", "59"]),
    hours=st.sampled_from(["*", "0", "1,2,3", "*/5", "23"]),
    weekdays=st.sampled_from(["*", "0", "1-5"]),
    zone=st.sampled_from(["", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"]),
    minute=st.integers(0, 365 * 24 * 60),
)
def test_no_time_between_a_moment_and_the_next_time_matches(
    minutes: str, hours: str, weekdays: str, zone: str, minute: int
) -> None:
    schedule = parse_schedule(f"{minutes} {hours} * * {weekdays}")
    assert isinstance(schedule, CronSchedule)
    loaded = load_zone(zone)
    assert loaded is not None
    after = moment("2026-01-01T00:00") + minute * MINUTE
    now = after + MINUTE
    for _ in range(9 * 24 * 60):
        local = now.astimezone(loaded)
        is_day = local.isoweekday() % 7 in schedule.weekdays
        if is_day and local.hour in schedule.hours and local.minute in schedule.minutes:
            break
        now += MINUTE
    assert ScheduleTimes(schedule, loaded).next(after) == now


@given(
    schedule=st.sampled_from(["* * * * *", "*/17 3 * * *", "0 0 * * 1", "59 23 31 12 *", "@every 7s", "* * * 1 *"]),
    minute=st.integers(0, 31 * 24 * 60),
    seconds=st.integers(0, 40_000),
)
def test_the_last_time_is_in_time_and_followed_by_none(schedule: str, minute: int, seconds: int) -> None:
    found, begin = times(schedule), moment("2026-01-01T00:00") + minute * MINUTE
    until = begin + timedelta(seconds=seconds)
    last = found.last(begin, until)
    following = found.next(begin if last is None else last)
    assert last is None or begin < last <= until
    assert following is not None
    assert following > until


def test_the_latest_of_many_missed_starts_is_due() -> None:
    found = find_missed_starts(
        cron_job("2026-01-01T00:00:00Z"), moment("2026-01-02T00:00:30"), times("*/5 * * * *"), None
    )
    assert (found.latest, found.missed, found.is_excessive) == (moment("2026-01-02T00:00"), 288, True)


def test_a_deadline_leaves_out_earlier_starts() -> None:
    now = moment("2026-01-02T00:00:30")
    found = find_missed_starts(cron_job("2026-01-01T00:00:00Z"), now, times("*/5 * * * *"), 600)
    assert (found.latest, found.missed) == (moment("2026-01-02T00:00"), 2)
    assert find_missed_starts(cron_job("2026-01-01T00:00:00Z"), now, times("@hourly"), 20).latest is None


def test_starts_of_a_whole_month_are_found_without_a_look_at_each() -> None:
    found = find_missed_starts(
        cron_job("2024-01-31T23:59:00Z"), moment("2026-01-31T23:30:30"), times("* * * 1 *"), None
    )
    assert found.latest == moment("2026-01-31T23:30")


def test_a_schedule_that_never_comes_is_an_error() -> None:
    with pytest.raises(ScheduleError, match="time difference between two schedules is less than 1 second"):
        find_missed_starts(cron_job("2026-01-01T00:00:00Z"), moment("2026-01-02T00:00"), times("0 0 31 2 *"), None)
    assert (
        seconds_to_next_start(cron_job("2026-01-01T00:00:00Z"), moment("2026-01-02T00:00"), times("0 0 31 2 *")) is None
    )


def test_the_next_start_comes_a_tenth_of_a_second_late() -> None:
    now = moment("2026-01-01T00:10:30")
    assert seconds_to_next_start(cron_job("2026-01-01T00:10:00Z"), now, times("*/10 * * * *")) == 570.1
