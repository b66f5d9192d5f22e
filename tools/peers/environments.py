"""A virtual environment for each suite, with the released project and the requirements of its tests."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tools.peers.suites import Suite

__all__ = ["install", "packages_folder"]


def install(suite: Suite, environment: Path) -> Path:
    """Create the environment of a suite unless it is up to date, and return its Python.

    Suites do not share one, because their requirements conflict.
    """
    python = environment / "bin" / "python"
    requirements = [suite.requirement, *suite.requirements, "pytest-timeout"]
    stamp = environment / ".installed"
    if stamp.exists() and stamp.read_text("utf-8").split() == requirements:
        return python
    subprocess.run((sys.executable, "-m", "venv", "--clear", environment), check=True)
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run((*pip, *requirements), check=True)
    stamp.write_text("\n".join(requirements), "utf-8")
    return python


def packages_folder(python: Path) -> Path:
    """Return the folder with the packages of an environment."""
    program = "import pathlib, sysconfig; print(pathlib.Path(sysconfig.get_path('purelib')))"
    output = subprocess.run((python, "-c", program), check=True, capture_output=True, text=True).stdout
    return type(python)(output.strip())
