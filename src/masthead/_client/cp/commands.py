"""The commands that copy: what GNU's tar and busybox's both understand. No name ever reaches a shell as part of a script."""

from __future__ import annotations

from typing import Final

from masthead._client.cp.paths import check_remote

__all__ = ["is_directory", "pack_directory", "pack_file", "read", "unpack", "write"]

_UNPACK: Final = 'size=$1; shift; head -c "$size" | tar "$@"'
_WRITE: Final = 'cat > "$1"'
_WRITE_SIZED: Final = 'head -c "$2" > "$1"'


def is_directory(path: str) -> list[str]:
    """Whether a path is a directory, or a link to one: exit code 0 or 1."""
    return ["test", "-d", check_remote(path)]


def pack_directory(path: str) -> list[str]:
    """An archive of what a directory holds, with names relative to it."""
    return ["tar", "-cf", "-", "-C", check_remote(path), "."]


def pack_file(directory: str, name: str) -> list[str]:
    """An archive of one file, or of what a link leads to."""
    return ["tar", "-chf", "-", "-C", check_remote(directory), f"./{name}"]


def unpack(directory: str, *, preserve: bool, size: int | None = None) -> list[str]:
    """Extract the archive that comes on stdin. The files belong to the user of the container.

    Args:
        directory: Where.
        preserve: Whether permissions and times of modification are those of the archive.
        size: The size of the archive, if stdin cannot be closed: tar would wait for its end, though the archive has one.
    """
    options = ["-xpof"] if preserve else ["--no-same-permissions", "-xmof"]
    arguments = [*options, "-", "-C", check_remote(directory)]
    return ["tar", *arguments] if size is None else ["sh", "-c", _UNPACK, "sh", str(size), *arguments]


def read(path: str) -> list[str]:
    """Print a file."""
    return ["cat", check_remote(path)]


def write(path: str, *, size: int | None = None) -> list[str]:
    """Write what comes on stdin to a file.

    Args:
        path: The path.
        size: How many bytes come, if stdin cannot be closed.
    """
    checked = check_remote(path)
    if size is None:
        return ["sh", "-c", _WRITE, "sh", checked]
    return ["sh", "-c", _WRITE_SIZED, "sh", checked, str(size)]
