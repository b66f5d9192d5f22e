"""The real server still responds as recorded, where there is one.

The cases of custom resources wait for it, so that all of them take many minutes: a seventh is put to it, and all of
them with ``MASTHEAD_ALL_CASES=1``.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import pytest
from tests.conformance.case import Case, all_cases
from tests.conformance.compare import differences
from tests.conformance.recording import recorded
from tests.conformance.run import responses

if TYPE_CHECKING:
    from tests.conformance.target import Targets

_ATTEMPTS = 3
"""Attempts of a case. kube-apiserver repeats an update, and its calls of webhooks, if its cache was late; and it sorts
managers by the second of their last change, which may end between two requests."""

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]


def chosen_cases() -> list[Case]:
    cases = all_cases()
    if os.environ.get("MASTHEAD_ALL_CASES"):
        return cases
    return [case for case in cases if zlib.crc32(case.title.encode()) % 7 == 0]


@pytest.mark.parametrize("case", chosen_cases(), ids=lambda case: case.title)
def test_the_real_server_responds_as_recorded(case: Case, real: Targets) -> None:
    found: list[str] = []
    for _ in range(_ATTEMPTS):
        found = differences(recorded(case) or [], responses(case, real.find(case)))
        if not found:
            break

    assert not found, "\n".join(found)
