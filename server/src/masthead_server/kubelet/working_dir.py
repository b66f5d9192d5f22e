"""The directory that the processes of a container start in: ``workingDir``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from masthead_server.kubelet.filesystem import normalize
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from masthead_server.kubelet.filesystem import FileSystem
    from masthead_server.wire.plain import Plain

__all__ = ["WorkingDirError", "check_working_dir", "create_working_dir", "working_dir_of"]


class WorkingDirError(Exception):
    """A process cannot start in its directory, in the words of a container runtime."""


def working_dir_of(spec: Plain) -> str:
    """Return the directory of a container; the root directory by default."""
    path = text(spec, "workingDir") or "/"
    return normalize(path) if path.startswith("/") else path


def create_working_dir(files: FileSystem, path: str) -> None:
    """Create the directory of a container that starts, unless it exists.

    Raises:
        WorkingDirError: If it is relative, is no directory, or is missing from a read-only volume.
    """
    if not path.startswith("/"):
        raise WorkingDirError("Cwd must be an absolute path")
    try:
        files.make_directory(path, parents=True)
    except OSError as error:
        raise WorkingDirError(f"mkdir {path}: {_reason(error)}") from error


def check_working_dir(files: FileSystem, path: str) -> None:
    """Check the directory of a further process, which a runtime does not create.

    Raises:
        WorkingDirError: If it does not exist, or is no directory.
    """
    try:
        files.directory(path)
    except OSError as error:
        problem = f'chdir to cwd ("{path}") set in config.json failed: {_reason(error)}'
        raise WorkingDirError(problem) from error


def _reason(error: OSError) -> str:
    # Go's errors begin in lower case.
    return os.strerror(error.errno or 0).lower()
