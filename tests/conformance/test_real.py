"""The real server still responds as recorded, where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.case import Case, all_cases
from tests.conformance.compare import differences
from tests.conformance.recording import recorded
from tests.conformance.run import responses

if TYPE_CHECKING:
    from tests.conformance.target import Target

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.title)
def test_the_real_server_responds_as_recorded(case: Case, real: Target) -> None:
    found = differences(recorded(case) or [], responses(case, real))

    assert not found, "\n".join(found)
