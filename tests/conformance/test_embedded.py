"""The embedded server answers as the real one did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.case import Case, all_cases
from tests.conformance.compare import differences
from tests.conformance.known import known_differences
from tests.conformance.recording import recorded
from tests.conformance.run import answers

if TYPE_CHECKING:
    from tests.conformance.target import Target


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.title)
def test_the_embedded_server_responds_as_recorded(case: Case, embedded: Target) -> None:
    said = recorded(case)
    assert said is not None, "the real server was not asked yet: run make conformance-record"

    found = differences(said, answers(case, embedded))

    if case.title in known_differences():
        assert found, "it agrees now: take it off the list of known differences"
    else:
        assert not found, "\n".join(found)
