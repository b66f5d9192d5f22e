"""What is committed as generated is what the generator makes of Kubernetes 1.36's documents."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import api, protobuf

from masthead._codegen import generate

ROOT = Path(__file__).parents[2]
API = ROOT / "src" / "masthead" / "api"
PROTOBUF = ROOT / "src" / "masthead" / "_server" / "wire" / "protobuf_table.py"
DOCUMENTS = ROOT.parent / "shared" / "kubernetes-1.36"

pytestmark = pytest.mark.skipif(not DOCUMENTS.is_dir(), reason=f"there is no {DOCUMENTS}")


def test_generating_again_changes_nothing() -> None:
    files = api.from_folder(DOCUMENTS)

    assert generate.changes(files, API) == []


def test_generating_the_protobuf_table_again_changes_nothing() -> None:
    assert protobuf.from_folder(DOCUMENTS) == PROTOBUF.read_text("utf-8")


def test_nothing_lies_beside_what_is_generated() -> None:
    files = api.from_folder(DOCUMENTS)

    assert {path.relative_to(API).as_posix() for path in API.rglob("*.py")} == {str(path) for path in files}


def test_two_runs_say_the_same() -> None:
    one, other = (api.from_folder(DOCUMENTS) for _ in range(2))

    assert one == other


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_the_order_of_sets_does_not_show(seed: str) -> None:
    arguments = ["--openapi", str(DOCUMENTS), "--out", str(API), "--check"]

    done = subprocess.run(
        [sys.executable, "-m", "tools.api", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )

    assert (done.returncode, done.stdout) == (0, "")


def test_no_prose_of_the_api_is_copied() -> None:
    for path in API.rglob("*.py"):
        docstrings = [line for line in path.read_text("utf-8").splitlines() if '"""' in line]
        ours = 2 if path == API / "index.py" else 1

        assert len(docstrings) == ours, path
