"""Schedules of cron jobs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.resources.builtin.batch.cron_schedule import problem_with_schedule


@pytest.mark.parametrize(
    "schedule", ["* * * * *", "*/5 0-6/2 1,15 jan-mar mon", "@daily", "@every 1h30m", "5/15 * ? * *"]
)
def test_a_schedule_that_cron_reads_has_no_problem(schedule: str) -> None:
    assert problem_with_schedule(schedule) == ""


@pytest.mark.parametrize(
    ("duration", "problem"),
    [
        ("1.5h", ""),
        ("1\N{GREEK SMALL LETTER MU}s", ""),
        ("1" * 30, 'invalid duration "111111111111111111111111111111"'),
        ("99999999999h", 'invalid duration "99999999999h"'),
        (".s", 'invalid duration ".s"'),
        ("", 'invalid duration ""'),
        ("-", 'invalid duration "-"'),
        ("1.", 'missing unit in duration "1."'),
        ("1h-1m", 'unknown unit "h-" in duration "1h-1m"'),
        ("1hh", 'unknown unit "hh" in duration "1hh"'),
    ],
)
def test_a_duration_is_read_as_the_real_server_reads_it(duration: str, problem: str) -> None:
    expected = f"failed to parse duration @every {duration}: time: {problem}" if problem else ""
    assert problem_with_schedule(f"@every {duration}") == expected


def test_a_huge_number_is_out_of_range() -> None:
    digits = "1" * 30
    expected = f'failed to parse int from {digits}: strconv.Atoi: parsing "{digits}": value out of range'
    assert problem_with_schedule(f"{digits} * * * *") == expected


@given(st.text(alphabet="0123456789*/-,? @aj"))
def test_any_text_is_either_a_schedule_or_has_a_problem(schedule: str) -> None:
    assert isinstance(problem_with_schedule(schedule), str)
