"""The formatter and the linter, to ask whether generated text would please them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_STYLE = ["--isolated", "--no-cache", "--line-length=120", "--target-version=py311"]


def reformatted(text: str) -> str:
    """The text as the formatter would have it."""
    command = [sys.executable, "-m", "ruff", "format", *_STYLE, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def complaints_about(folder: Path) -> str:
    """What the formatter and the linter say about the files in a folder; nothing if they are content."""
    said = ""
    for check in (["format", "--check"], ["check", "--select=F,E9,I"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *check, *_STYLE, str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        said += done.stdout + done.stderr if done.returncode else ""
    return said
