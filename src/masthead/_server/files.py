"""Files with secrets in them: for their owner alone, and never written through somebody else's link."""

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
    """Make sure that a file is there, and that only its owner can read and write it.

    Raises:
        OSError: It cannot be written, is a symbolic link or something else than a file, or belongs to another user.
    """
    _check_plain(path)
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | _NO_FOLLOW, _PRIVATE)
    try:
        # Neither what it was before nor the process' umask is to decide.
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != _PRIVATE:
            os.fchmod(descriptor, _PRIVATE)
    except PermissionError:
        raise PermissionError(
            errno.EPERM, "it belongs to another user, who could read it", str(path)
        ) from None
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read: all of it or nothing, whatever was there before.

    Raises:
        OSError: It cannot be written, or is a symbolic link or something else than a file.
    """
    _check_plain(path)
    descriptor, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}."
    )  # 0600 from the beginning
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _check_plain(path: Path) -> None:
    """Refuse what is there and is no file.

    Raises:
        OSError: It is a symbolic link, a folder, a device.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OSError(
            errno.ELOOP, "it is a symbolic link, which is not followed; name the file itself", str(path)
        )
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file; name one that is", str(path))
