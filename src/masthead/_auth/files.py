"""Small files that are replaced at run time: tokens, keys, certificates."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._meta.secret import Secret, SecretValue
from masthead.errors import AuthError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["WatchedFile"]

_LIMIT: Final = 1024 * 1024
"""Larger files are rejected: no token, key or CA bundle is that large."""

_FileState: TypeAlias = tuple[int, int, int, int, int]


def _file_state(found: os.stat_result) -> _FileState:
    """Return what changes when a file is written, replaced by a rename or a symlink, or made readable."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class WatchedFile:
    """A small text file that detects its replacement.

    Args:
        path: The path of the file.
        role: Its name in messages, such as ``token file``.
    """

    def __init__(self, path: Path, role: str) -> None:
        self._path = path
        self._role = role
        self._seen: _FileState | None = None

    def __str__(self) -> str:
        return f"{self._role} {self._path}"

    def has_changed(self) -> bool:
        """Whether it may have new content: it changed, is missing, or could not be read the last time."""
        try:
            return _file_state(self._path.stat()) != self._seen
        except OSError:
            return True

    def read(self) -> Secret:
        """Read the text. It is a `Secret`, because most of these files hold secrets.

        Raises:
            AuthError: If it cannot be read, is empty or too large, or is not a regular text file.
        """
        self._seen = None
        try:
            text, mark = self._content()
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise AuthError(
                f"the {self} cannot be read: {why}; check that it exists and that this process may read it"
            ) from error
        except UnicodeDecodeError:
            text, mark = None, None
        if text is None:  # raised outside of the handler, because Python's error contains the content
            raise AuthError(f"the {self} is not text")
        if not text.reveal().strip():
            raise AuthError(f"the {self} is empty")
        self._seen = mark
        return text

    def _content(self) -> tuple[Secret, _FileState]:
        """Return the text and the state of the file descriptor that it was read from."""
        # Opening a pipe without a writer would block the event loop for ever.
        if not stat.S_ISREG(self._path.stat().st_mode):
            raise AuthError(f"the {self} is not a regular file")
        with self._path.open("rb") as file:
            mark = _file_state(os.fstat(file.fileno()))
            content = SecretValue(file.read(_LIMIT + 1))
        if len(content.reveal()) > _LIMIT:
            raise AuthError(f"the {self} is larger than {_LIMIT // 1024} KiB; is it the right one?")
        return Secret(content.reveal().decode()), mark
