"""Small files that others replace while we run: tokens, keys, certificates."""

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
"""No token, key or bundle of authorities is larger; what is, was named by mistake."""

_FileState: TypeAlias = tuple[int, int, int, int, int]


def _file_state(found: os.stat_result) -> _FileState:
    """What differs when a file was written, replaced by a rename, swapped behind a symlink or made readable."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class WatchedFile:
    """A small text file, and whether it is still the one that was read.

    Args:
        path: Where it is.
        role: What it is, for messages: ``token file``.
    """

    def __init__(self, path: Path, role: str) -> None:
        self._path = path
        self._role = role
        self._seen: _FileState | None = None

    def __str__(self) -> str:
        return f"{self._role} {self._path}"

    def has_changed(self) -> bool:
        """Whether reading it may bring something new: it changed, is gone, or could not be read the last time."""
        try:
            return _file_state(self._path.stat()) != self._seen
        except OSError:
            return True

    def read(self) -> Secret:
        """The text in it; hidden, because most of these files hold secrets.

        Raises:
            AuthError: If it cannot be read, is empty, too large, no text or no file.
        """
        self._seen = None
        try:
            text, mark = self._content()
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise AuthError(
                f"the {self} cannot be read: {why}; check that it is there and that this process may read it"
            ) from error
        except UnicodeDecodeError:
            text, mark = None, None
        if text is None:  # here, because the error that Python raises holds the content
            raise AuthError(f"the {self} is not text")
        if not text.reveal().strip():
            raise AuthError(f"the {self} is empty")
        self._seen = mark
        return text

    def _content(self) -> tuple[Secret, _FileState]:
        """The text, and the mark of the very file that they came from, whatever has taken its place since."""
        # A pipe without a writer would block the event loop in open, and for ever.
        if not stat.S_ISREG(self._path.stat().st_mode):
            raise AuthError(f"the {self} is not a regular file")
        with self._path.open("rb") as file:
            mark = _file_state(os.fstat(file.fileno()))
            content = SecretValue(file.read(_LIMIT + 1))
        if len(content.reveal()) > _LIMIT:
            raise AuthError(f"the {self} is larger than {_LIMIT // 1024} KiB; is it the right one?")
        return Secret(content.reveal().decode()), mark
