"""Times as Go reads and writes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.wire.go_time import MICRO_TIME, TIME

LAYOUT = "2006-01-02T15:04:05Z07:00"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2001-02-03T04:05:06Z", "2001-02-03T04:05:06Z"),
        ("2001-02-03T04:05:06.999Z", "2001-02-03T04:05:06Z"),
        ("2001-02-03T04:05:06,5Z", "2001-02-03T04:05:06Z"),
        ("2001-02-03T4:05:06Z", "2001-02-03T04:05:06Z"),
        ("2001-02-03T23:30:00-01:30", "2001-02-04T01:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_a_time_is_written_in_utc_to_the_second(text: str, written: str | None) -> None:
    assert TIME.canonical(text) == written


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", f'parsing time "" as "{LAYOUT}": cannot parse "" as "2006"'),
        ("2001", f'parsing time "2001" as "{LAYOUT}": cannot parse "" as "-"'),
        ("2001-1-01", f'parsing time "2001-1-01" as "{LAYOUT}": cannot parse "1-01" as "01"'),
        ("2001-13-01T00:00:00Z", 'parsing time "2001-13-01T00:00:00Z": month out of range'),
        ("2001-02-30T00:00:00Z", 'parsing time "2001-02-30T00:00:00Z": day out of range'),
        ("2001-01-01T24:00:00Z", 'parsing time "2001-01-01T24:00:00Z": hour out of range'),
        ("2001-01-01T00:00:00Z!", 'parsing time "2001-01-01T00:00:00Z!": extra text: "!"'),
        ('"', f'parsing time "\\"" as "{LAYOUT}": cannot parse "\\"" as "2006"'),
        ("é", f'parsing time "\\xc3\\xa9" as "{LAYOUT}": cannot parse "\\xc3\\xa9" as "2006"'),
    ],
)
def test_what_is_no_time_is_described_in_the_words_of_go(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as found:  # noqa: PT011 - the whole message is compared
        TIME.canonical(text)
    assert str(found.value) == problem


@given(st.datetimes(min_value=datetime(2, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - strategies want it naive
def test_a_written_time_is_read_as_itself(when: datetime) -> None:
    seconds = when.isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
    micros = when.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
    assert TIME.canonical(seconds) == seconds
    assert MICRO_TIME.canonical(micros) == micros


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_an_error(text: str) -> None:
    for layout in (TIME, MICRO_TIME):
        try:
            layout.canonical(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017 - either is fine
