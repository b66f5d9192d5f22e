"""The commands of a copy, in the common subset of GNU's and busybox's tar.

No name ever reaches a shell as part of a script.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Final

from masthead._client.cp.paths import check_remote, is_sendable

__all__ = [
    "DONE",
    "ProbedTarget",
    "is_directory",
    "pack_directory",
    "pack_file",
    "probe",
    "parse_probe",
    "read",
    "unpack",
    "write",
]

DONE: Final = b"done"
"""What commands that write print when they have succeeded. Their exit code alone is no proof: API servers report
success if the connection to the node breaks, which it may do when a command fails without having read all of its
stdin."""
_PROBE: Final = """\
if [ -d "$1" ]; then echo directory; place=$3; else place=$1; fi
if [ -d "$2" ]; then echo parent; fi
tar --help > /dev/null 2>&1; [ $? -ge 126 ] || echo tar
[ -n "$place" ] || exit 0
if [ -L "$place" ]; then echo place-link; fi
if [ -d "$place" ]; then echo place-directory; elif [ -e "$place" ]; then echo place-file; fi
exit 0"""
_CONFIRM: Final = f"&& echo {DONE.decode()}"


@dataclass(frozen=True, slots=True)
class ProbedTarget:
    """The known state of a copy's target before anything is sent.

    Attributes:
        is_directory: Whether it is a directory, or a link to one, so that the copy goes into it.
        has_parent: Whether it is in a directory.
        has_tar: Whether the container has tar.
        refuses_files: Whether a directory, or a link to one, has the name that the copy gets.
        refuses_directories: Whether a file or a link has the name that the copy gets.
    """

    is_directory: bool
    has_parent: bool
    has_tar: bool
    refuses_files: bool
    refuses_directories: bool


def probe(path: str, name: str = "") -> list[str]:
    """Look at a path that is to be written; see `parse_probe`.

    Args:
        path: The path.
        name: What the copy is called if the path is a directory; empty if it is the directory itself.

    Raises:
        ArgumentError: If the path cannot be one.
    """
    parent = posixpath.dirname(path.rstrip("/")) or "."
    arguments = [check_remote(path), check_remote(parent)]
    # A name that is not UTF-8 can be in an archive, but not in a command: such entries are not checked.
    if name and is_sendable(name):
        arguments.append(check_remote(posixpath.join(path, name)))
    return ["sh", "-c", _PROBE, "sh", *arguments]


def parse_probe(printed: bytes) -> ProbedTarget:
    """What `probe` has printed to stdout."""
    words = printed.split()
    return ProbedTarget(
        is_directory=b"directory" in words,
        has_parent=b"parent" in words,
        has_tar=b"tar" in words,
        refuses_files=b"place-directory" in words,
        refuses_directories=b"place-link" in words or b"place-file" in words,
    )


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
        size: The size of the archive, if stdin cannot be closed: tar would wait for its end, though the archive has
            one.
    """
    options = "-xpof" if preserve else "--no-same-permissions -xmof"
    tar = f'tar {options} - -C "$1" {_CONFIRM}'
    if size is None:
        return ["sh", "-c", tar, "sh", check_remote(directory)]
    return ["sh", "-c", f'head -c "$2" | {tar}', "sh", check_remote(directory), str(size)]


def read(path: str) -> list[str]:
    """Print a file."""
    return ["cat", check_remote(path)]


def write(path: str, *, size: int | None = None) -> list[str]:
    """Write what comes on stdin to a file.

    Args:
        path: The path.
        size: How many bytes come, if stdin cannot be closed.
    """
    if size is None:
        return ["sh", "-c", f'cat > "$1" {_CONFIRM}', "sh", check_remote(path)]
    return ["sh", "-c", f'head -c "$2" > "$1" {_CONFIRM}', "sh", check_remote(path), str(size)]
