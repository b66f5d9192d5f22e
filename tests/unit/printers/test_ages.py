"""Ages and durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._printers.ages import age, human_duration, moment

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400

UNITS = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-0.1, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 59, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (8 * HOUR, "8h"),
        (48 * HOUR - 1, "47h"),
        (48 * HOUR, "2d"),
        (49 * HOUR, "2d1h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR, "8y"),
        (10_000 * YEAR, "292y"),
        (float("inf"), "292y"),
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown


def _least(shown: str) -> int:
    """The shortest duration that is shown so."""
    total, digits = 0, ""
    for character in shown:
        if character.isdigit():
            digits += character
        else:
            total, digits = total + int(digits) * UNITS[character], ""
    return total


@given(st.integers(0, 200 * YEAR), st.integers(0, 200 * YEAR))
def test_a_longer_duration_never_shows_less(one: int, other: int) -> None:
    shorter, longer = sorted((one, other))
    assert _least(human_duration(shorter)) <= _least(human_duration(longer))


@given(st.integers(0, 200 * YEAR))
def test_a_duration_is_at_least_what_is_shown_and_nearly_as_long(seconds: int) -> None:
    least = _least(human_duration(seconds))
    assert least <= seconds <= max(least * 1.13 + 1, least + 1)


@given(st.integers(0, 2_000 * YEAR))
def test_an_age_is_the_time_since_a_timestamp(seconds: int) -> None:
    when = NOW - timedelta(seconds=seconds)
    shown = age(when.isoformat().replace("+00:00", "Z"), NOW)
    assert shown == human_duration((NOW - when) / timedelta(seconds=1))


@pytest.mark.parametrize("timestamp", [None, "", "yesterday", 7, [], "0001-01-01T00:00:00Z"])
def test_what_is_not_a_time_has_no_age(timestamp: object) -> None:
    assert moment(timestamp) is None
    assert age(timestamp, NOW) == "<unknown>"
