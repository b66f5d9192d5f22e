"""The Python interpreters at hand."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_ASK: Final = "import sys; print(*sys.version_info[:3], sys.version_info.releaselevel == 'final')"
_PATIENCE_S: Final = 30


@dataclasses.dataclass(frozen=True, order=True)
class Interpreter:
    """An interpreter.

    Attributes:
        version: Major, minor and patch.
        is_final: Whether it is released.
        path: Where it is.
    """

    version: tuple[int, int, int]
    is_final: bool
    path: Path

    @property
    def minor(self) -> str:
        """The version without the patch, such as ``3.11``."""
        return f"{self.version[0]}.{self.version[1]}"

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.version))} ({self.path})"


def find(minors: Iterable[str]) -> dict[str, Interpreter]:
    """The newest interpreter of each of these versions, on the PATH or of pyenv, by version."""
    wanted = list(minors)
    asked = (_ask(path) for path in _candidates(wanted))
    return newest((candidate for candidate in asked if candidate is not None), wanted)


def newest(found: Iterable[Interpreter], minors: Iterable[str]) -> dict[str, Interpreter]:
    """The newest interpreter of each version, final releases first; in the order of the versions."""
    by_minor: dict[str, Interpreter] = {}
    for candidate in sorted(found, key=lambda candidate: (candidate.is_final, candidate.version)):
        by_minor[candidate.minor] = candidate
    return {minor: by_minor[minor] for minor in minors if minor in by_minor}


def _candidates(minors: list[str]) -> list[Path]:
    """Everything that may be an interpreter; a shim of pyenv may be none."""
    names = [f"python{minor}" for minor in minors]
    on_path = [found for name in (*names, "python3") if (found := shutil.which(name))]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    ours = [path for name in names for path in pyenv.glob(f"*/bin/{name}")]
    return [*map(Path, on_path), *sorted(ours)]


def _ask(path: Path) -> Interpreter | None:
    """Ask a program for its Python version; None if it does not work."""
    try:
        done = subprocess.run([path, "-I", "-c", _ASK], capture_output=True, text=True, check=True, timeout=_PATIENCE_S)
        major, minor, patch, is_final = done.stdout.split()
        return Interpreter((int(major), int(minor), int(patch)), is_final == "True", path)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
