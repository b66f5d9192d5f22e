"""The benchmark of recordings."""

from __future__ import annotations

import os
import sys

import pytest
from benchmarks.harness import measure


@pytest.mark.slow
def test_a_quick_run_ends_with_a_line_of_json_and_judges_nothing() -> None:
    found = measure.printed([sys.executable, "-m", "benchmarks.record", "--quick"], os.environ)

    assert found["benchmark"] == "record"
    assert found["targets"] == {}
    assert found["tables"]["record"]["hour"]["mb"] > 1
