"""What is generated is marked so for reviews, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tools import exports

from masthead._codegen import render

ROOT = Path(__file__).parents[2]


def test_exactly_the_generated_files_are_marked() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    paths = subprocess.run(
        ["git", "ls-files", "src/**/*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    shown = subprocess.run(
        ["git", "check-attr", "linguist-generated", "--", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    marked = {line.partition(":")[0] for line in shown.splitlines() if line.endswith(": set")}

    present = {path: (ROOT / path).read_text("utf-8") for path in paths if (ROOT / path).is_file()}
    assert marked == {path for path, text in present.items() if render.is_generated(text) or exports.MARK in text}
