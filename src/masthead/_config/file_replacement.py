"""Atomic replacement of kubeconfig files, under the lock of kubectl."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from masthead._meta.secret import Secret

__all__ = ["hold_lock", "replace_content"]

_TRIES: Final = 20
_PAUSE: Final = 0.05
"""Seconds between attempts; writing takes a few milliseconds."""


@contextlib.contextmanager
def hold_lock(path: Path, pause: Callable[[float], object], *, what: str) -> Generator[None]:
    """Hold the lock file that kubectl and client-go use, too, as long as the block runs.

    Args:
        path: The kubeconfig.
        pause: Sleeps for a number of seconds between attempts.
        what: What is to be written, for the message.

    Raises:
        ConfigError: If the file stays locked.
    """
    lock = path.with_name(f"{path.name}.lock")
    for attempt in range(_TRIES):
        if attempt:
            pause(_PAUSE)
        try:
            # The lock is that the file exists; O_EXCL fails if another process has created it.
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        break
    else:
        raise ConfigError(
            f"{path}: is locked, so that {what} cannot be written. If no program is writing to it, one was "
            f"killed while it did: remove {lock}"
        )
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def replace_content(path: Path, text: Secret) -> None:
    """Replace a file by a new one with the same owner and mode; if that is not permitted, write in place.

    A file that does not exist is created, and only its owner may read it.
    """
    import tempfile  # for a change only, because programs must start quickly

    known = path.stat() if path.exists() else None
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            # A temporary file has the mode 0600, which a new kubeconfig shall have.
            if is_like := known is None or _is_like(known, file.fileno()):
                _write(file, text)
        if is_like:
            new.replace(path)
            return
        # A rename would change the owner, who might then be unable to read the file.
        with path.open("r+", encoding="utf-8") as file:
            _write(file, text)
            file.truncate()
    finally:
        new.unlink(missing_ok=True)


def _is_like(known: os.stat_result, descriptor: int) -> bool:
    """Set owner and mode of a new file; return whether that was permitted."""
    if not hasattr(os, "fchown"):  # as on Windows, where files inherit the permissions of their directory
        return True
    try:
        found = os.fstat(descriptor)
        if (found.st_uid, found.st_gid) != (known.st_uid, known.st_gid):
            os.fchown(descriptor, known.st_uid, known.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(known.st_mode))
    except PermissionError:
        return False
    return True


def _write(file: IO[str], text: Secret) -> None:
    file.write(text.reveal())
    file.flush()
    os.fsync(file.fileno())
