"""The embedded server responds as the real one did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.case import Case, all_cases
from tests.conformance.compare import differences
from tests.conformance.known import known_differences
from tests.conformance.recording import recorded
from tests.conformance.run import responses

if TYPE_CHECKING:
    from tests.conformance.target import Targets


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.title)
def test_the_embedded_server_responds_as_recorded(case: Case, embedded: Targets) -> None:
    expected = recorded(case)
    assert expected is not None, "there is no recording of the real server yet: run make conformance-record"

    found = differences(expected, responses(case, embedded.find(case)))

    if case.title in known_differences():
        assert found, "it agrees now: take it off the list of known differences"
    else:
        assert not found, "\n".join(found)
