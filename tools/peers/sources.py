"""Tests of a suite, from its sdist or from a clone of its repository."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tools.peers.suites import Suite

__all__ = ["MissingCloneError", "extract_tests"]


class MissingCloneError(Exception):
    """The sdist of a suite has no tests, and no clone of its repository exists."""


def extract_tests(suite: Suite, *, python: Path, clones: Path | None, into: Path) -> None:
    """Write the test files of a suite to a folder.

    Raises:
        MissingCloneError: If the suite needs a clone that does not exist.
    """
    if not suite.tag:
        # In the environment, so that it is downloaded once.
        _extract_sdist(_download_sdist(suite, python, python.parents[1] / "sdist"), suite, into)
        return
    clone = clones / suite.name if clones else None
    if clone is None or not clone.exists():
        raise MissingCloneError(
            f"{suite.name}: the sdist has no tests. Clone the repository of {suite.project} to PEERS/{suite.name}, "
            f"with its tag {suite.tag}"
        )
    _extract_clone(clone, suite, into)


def _download_sdist(suite: Suite, python: Path, folder: Path) -> Path:
    """Return the path of the archive; download it unless this release is cached."""
    if not (archives := list(folder.glob(f"*-{suite.version}.tar.gz"))):
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", suite.project)
        requirement = f"{suite.project}=={suite.version}"
        command = (python, "-m", "pip", "download", *options, "--dest", folder, requirement)
        subprocess.run(command, check=True)
        archives = list(folder.glob(f"*-{suite.version}.tar.gz"))
    (archive,) = archives
    return archive


def _extract_sdist(archive: Path, suite: Suite, into: Path) -> None:
    with tarfile.open(archive) as sdist:
        for member in sdist.getmembers():
            _, _, path = member.name.partition("/")
            if _is_below(path, suite.paths):
                sdist.extract(member.replace(name=path, deep=False), into, filter="data")


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _extract_clone(clone: Path, suite: Suite, into: Path) -> None:
    """Extract from the tag of a clone, which may be bare; without the tag, copy the work tree."""
    archive = subprocess.run(
        ("git", "-C", clone, "archive", "--format=tar", suite.tag, *suite.paths), capture_output=True, check=False
    )
    if archive.returncode == 0:
        subprocess.run(("tar", "--extract", "--directory", into), input=archive.stdout, check=True)
        return
    for path in suite.paths:
        if (clone / path).is_dir():
            shutil.copytree(clone / path, into / path, dirs_exist_ok=True)
        else:
            shutil.copy2(clone / path, into / path)
