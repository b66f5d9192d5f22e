"""Where a copy goes, as ``cp -r`` decides it, and which members of an archive may go there."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "RemotePlace",
    "UnsafeNameError",
    "base_name",
    "check_remote",
    "is_sendable",
    "leads_out",
    "member_parts",
    "remote_place",
]

_WHOLE = ("", ".", "..")
"""Last parts of paths that stand for all that a directory holds."""


class UnsafeNameError(ValueError):
    """A member of an archive that would lie outside of the copy."""


@dataclass(frozen=True, slots=True)
class RemotePlace:
    """Where in a container something is, or goes.

    Attributes:
        directory: The directory that it is in.
        name: Its name there; empty if it is the directory itself.
    """

    directory: str
    name: str

    @property
    def path(self) -> str:
        """The path."""
        return posixpath.join(self.directory, self.name) if self.name else self.directory


def check_remote(path: str) -> str:
    """A path in a container, in a form that no command takes for an option.

    Raises:
        ArgumentError: If it cannot be one, or could not be sent.
    """
    if not isinstance(cast("object", path), str) or not path or "\0" in path:
        raise ArgumentError(f"a path in a container is a string, and not empty: not {path!r}", value=path)
    if not is_sendable(path):
        raise ArgumentError(
            f"the path {path!r} is not UTF-8, which commands in containers have to be; copy the directory that "
            "it is in",
            value=path,
        )
    return f"./{path}" if path.startswith("-") else path


def is_sendable(name: str) -> bool:
    """Whether a name is UTF-8, as arguments of commands in containers have to be."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def base_name(path: str, *, split: Callable[[str], tuple[str, str]] = posixpath.split) -> str:
    """The name that a copy gets in a directory; empty if all that the path holds is copied there: ``/etc/.``, ``/``."""
    head, name = split(path)
    if not name and head != path:  # it ends with a slash
        name = split(head)[1]
    return "" if name in _WHOLE else name


def remote_place(target: str, name: str, *, is_directory: bool) -> RemotePlace:
    """Where something of a name is copied to.

    Args:
        target: The target as given.
        name: What it is called where it comes from.
        is_directory: Whether the target is a directory, so that the copy goes into it.
    """
    if is_directory:
        return RemotePlace(target, name)
    directory, base = posixpath.split(target.rstrip("/"))
    return RemotePlace(directory or ".", base)


def member_parts(name: bytes) -> tuple[bytes, ...]:
    """The parts of a member's name, relative to the copy; none for the copy itself.

    Raises:
        UnsafeNameError: If it is absolute, or leads upwards.
    """
    if name.startswith(b"/"):
        raise UnsafeNameError("its name is absolute")
    parts = tuple(part for part in name.split(b"/") if part not in (b"", b"."))
    if b".." in parts:
        raise UnsafeNameError("its name leads upwards")
    return parts


def leads_out(link: bytes, depth: int) -> bool:
    """Whether a symbolic link may lead out of the copy.

    A link that climbs after it has descended counts, too: through another link it might arrive anywhere. So what
    remains stays inside, also through any number of similar links.

    Args:
        link: What it points to.
        depth: How many directories of the copy it lies in.
    """
    parts = [part for part in link.split(b"/") if part not in (b"", b".")]
    climbs = next((at for at, part in enumerate(parts) if part != b".."), len(parts))
    return not link or link.startswith(b"/") or climbs > depth or b".." in parts[climbs:]
