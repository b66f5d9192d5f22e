"""Files with secrets: readable by their owner alone, and never written through a symbolic link."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["make_private", "write_private"]

_PRIVATE: Final = 0o600
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


def make_private(path: Path) -> None:
    """Make sure that a file exists, and that only its owner can read and write it.

    Raises:
        OSError: If it is not writable, is a symbolic link or no regular file, or belongs to another user.
    """
    _check_plain(path)
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | _NO_FOLLOW, _PRIVATE)
    try:
        # Whatever its mode before, and whatever the process' umask.
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != _PRIVATE:
            os.fchmod(descriptor, _PRIVATE)
    except PermissionError:
        raise PermissionError(errno.EPERM, "it belongs to another user, who could read it", str(path)) from None
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, atomically.

    Raises:
        OSError: If it is not writable, or is a symbolic link or no regular file.
    """
    _check_plain(path)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600 from the start
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _check_plain(path: Path) -> None:
    """Refuse what exists and is no regular file.

    Raises:
        OSError: If it is a symbolic link, a folder or a device.
    """
    try:
        # lstat, because stat would follow the link that is to be refused.
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed; name the file itself", str(path))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file; name one that is", str(path))
