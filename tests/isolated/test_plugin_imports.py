"""What pytest does to the modules of this package, in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TEST = """
import sys

from _pytest.assertion.rewrite import AssertionRewritingHook


def test_a_client_is_used(kube_client):
    assert kube_client.core_v1.namespaces().get("default").metadata.name == "default"
    ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "masthead"]
    rewritten = [m.__name__ for m in ours if isinstance(m.__spec__.loader, AssertionRewritingHook)]
    print(f"{len(ours)} modules; rewritten:", *sorted(rewritten))
"""


def install_as_a_wheel(folder: Path) -> None:
    """Write the metadata of an installed wheel: an editable install has no list of modules, and pytest marks none."""
    metadata = folder / "as_a_wheel-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: as-a-wheel\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[pytest11]\nas_a_wheel = json\n")
    (metadata / "RECORD").write_text("masthead/__init__.py,,\n")


@pytest.mark.slow
def test_pytest_rewrites_only_the_modules_that_lead_to_the_plugin(tmp_path: Path) -> None:
    install_as_a_wheel(tmp_path)
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-s",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:asyncio",
            "test_it.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    count, _, rewritten = done.stdout.partition(" modules; rewritten:")
    assert int(count) > 300
    assert rewritten.splitlines()[0].split() == [
        "masthead",
        "masthead._lazy",
        "masthead._version",
        "masthead.testing",
        "masthead.testing._plain_imports",
        "masthead.testing.plugin",
    ]
