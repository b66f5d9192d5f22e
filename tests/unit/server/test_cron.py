"""Schedules of cron jobs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.server.kinds.rules.cron import problem_with_schedule


@pytest.mark.parametrize(
    "schedule", ["* * * * *", "*/5 0-6/2 1,15 jan-mar mon", "@daily", "@every 1h30m", "5/15 * ? * *"]
)
def test_a_schedule_that_cron_reads_has_no_problem(schedule: str) -> None:
    assert problem_with_schedule(schedule) == ""


@given(st.text(alphabet="0123456789*/-,? @aj"))
def test_any_text_is_either_a_schedule_or_has_a_problem(schedule: str) -> None:
    assert isinstance(problem_with_schedule(schedule), str)
