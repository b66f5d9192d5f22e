"""The committed recordings match the cases."""

from __future__ import annotations

import pytest
from tests.conformance.case import all_cases
from tests.conformance.known import known_differences
from tests.conformance.recording import FOLDER, path_of, pretty, read
from tests.conformance.report import DOCUMENT, render


def test_every_case_is_recorded_and_nothing_else_is() -> None:
    cases = all_cases()

    assert {path.name for path in FOLDER.iterdir()} == {path_of(case.area).name for case in cases}
    assert {(area, name) for area in {case.area for case in cases} for name in read(area).cases} == {
        (case.area, case.name) for case in cases
    }


def test_every_area_records_its_date_and_server_version() -> None:
    for area in {case.area for case in all_cases()}:
        assert read(area).server.startswith("v1.36."), area
        assert read(area).recorded.startswith("20"), area


@pytest.mark.slow
def test_recordings_are_written_as_the_recorder_writes_them() -> None:
    for area in {case.area for case in all_cases()}:
        assert path_of(area).read_text("utf-8") == f"{pretty(vars(read(area)))}\n", area


def test_every_known_difference_is_that_of_a_case_and_has_a_reason() -> None:
    assert known_differences().keys() <= {case.title for case in all_cases()}
    assert all(reason.strip() for reason in known_differences().values())


def test_the_page_matches_the_test_results() -> None:
    assert DOCUMENT.read_text("utf-8") == render(all_cases(), known_differences())
