"""The proof set, explored: each bug is found in a few schedules, and nothing is reported about the repaired twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from masthead.testing import explore
from masthead.testing.exploration import StopExploration
from tests.explore.operators.catalog import OPERATORS, external_of, maker_of

if TYPE_CHECKING:
    from masthead.testing import Report
    from masthead.testing.exploration import ExplorationProgress

pytestmark = pytest.mark.slow

SCHEDULES = 40
"""The number of schedules per operator; the bug that is found last needs 25."""


def stop_after_finding(progress: ExplorationProgress) -> None:
    """End an exploration with its first finding."""
    if progress.findings:
        raise StopExploration


def explore_operator(name: str, version: Literal["buggy", "fixed"]) -> Report:
    """Explore an operator of the set in one process, as long as nothing is found."""
    operator = OPERATORS[name]
    return explore(
        maker_of(operator, version),
        operator.workload,
        crds=operator.CRDS,
        external=external_of(operator),
        budget=SCHEDULES,
        processes=1,
        on_progress=stop_after_finding,
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_the_bug_is_found(name: str) -> None:
    report = explore_operator(name, "buggy")
    assert {finding.oracle for finding in report.findings} & set(OPERATORS[name].ORACLES), report


@pytest.mark.parametrize("name", OPERATORS)
def test_nothing_is_found_in_the_repaired_operator(name: str) -> None:
    report = explore_operator(name, "fixed")
    assert not report.findings, report
    assert report.schedules + len(report.unreached) >= SCHEDULES
