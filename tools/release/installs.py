"""Installs archives in clean environments, and uses them: ``python -m tools.release.installs FOLDER``."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_SMOKE: Final = Path(__file__).with_name("smoke.py").resolve()
_INVENTORY: Final = Path(__file__).with_name("inventory.py").resolve()


class InstallError(Exception):
    """A step that failed, with what it printed."""


@contextlib.contextmanager
def installed(archive: Path, interpreter: Path, *, extras: tuple[str, ...] = ()) -> Generator[Path]:
    """Install an archive in a clean environment; gives the folder of its programs.

    Raises:
        InstallError: If that fails.
    """
    with tempfile.TemporaryDirectory(prefix="masthead-release-") as folder:
        _run([str(interpreter), "-m", "venv", folder], folder)
        programs = Path(folder, "Scripts" if sys.platform == "win32" else "bin")
        what = f"{archive.resolve()}[{','.join(extras)}]" if extras else str(archive.resolve())
        pip = [str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "install", what], folder)
        yield programs


def use(archive: Path, interpreter: Path) -> None:
    """Install an archive and use it, outside of the source tree.

    Raises:
        InstallError: If a step fails.
    """
    with installed(archive, interpreter) as programs, tempfile.TemporaryDirectory() as folder:
        python = str(programs / "python")
        _run([python, "-I", "-W", "error", str(_SMOKE)], folder)
        said = _run([str(programs / "masthead"), "--version"], folder)
        version = archive.name.split("-")[1].removesuffix(".tar.gz")
        if said.strip() != f"masthead {version}":
            raise InstallError(f"masthead --version says {said.strip()!r}")
        _run([python, "-I", "-m", "masthead", "new", "smoke-operator"], folder)


def inventory(archive: Path, interpreter: Path, extras: tuple[str, ...]) -> list[dict[str, Any]]:
    """What is installed with an archive and its extras (`tools.release.inventory`).

    Raises:
        InstallError: If it cannot be installed.
    """
    with installed(archive, interpreter, extras=extras) as programs:
        found: list[dict[str, Any]] = json.loads(_run([str(programs / "python"), "-I", str(_INVENTORY)], "."))
    return found


def archives_of(folder: Path) -> list[Path]:
    """The wheel and the sdist of a folder.

    Raises:
        InstallError: If it does not have one of each.
    """
    found = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if sorted(each.suffix for each in found) != [".gz", ".whl"]:
        raise InstallError(f"{folder} must contain one wheel and one sdist; run `make dist` first")
    return found


def _run(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise InstallError(f"{' '.join(command)} ended with exit status {done.returncode}:\n{done.stdout}")
    return done.stdout


def main(folder: str) -> int:
    """Use the wheel and the sdist of a folder with this Python; return the exit code."""
    try:
        for archive in archives_of(Path(folder)):
            use(archive, Path(sys.executable))
            print(f"{archive.name}: installed and used")
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
