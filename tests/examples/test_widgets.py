"""widgets/, on the embedded server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "widgets"
CRD = FOLDER / "crd.yaml"


def test_custom_resources_are_typed_all_the_way(kubeconfig_file: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / "widgets.py"],
        env={**os.environ, "KUBECONFIG": str(kubeconfig_file)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "small: size 1, red, 2kg",
        "large: size 40, red, 2kg",
        "small: size 2",
        "spec: Invalid value: large widgets are red",
    ]


def test_the_classes_are_those_of_the_definition() -> None:
    command = [sys.executable, "-m", "masthead", "generate", "--check"]
    files = ["--crd", str(CRD), "--out", str(FOLDER / "widgets_api")]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
