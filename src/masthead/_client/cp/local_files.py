"""Local files and directories that a copy writes: nothing outside of them, and nothing through a link."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._client.cp.paths import UnsafeNameError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FileWriter", "Metadata", "Tree"]

_NEW: Final = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
) | getattr(os, "O_BINARY", 0)
_DIRECTORY: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_NOT_A_DIRECTORY: Final = (errno.ENOTDIR, errno.ELOOP)
"""What opening a link as a directory fails with, if links are not followed."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The mode and modification time of a file or directory.

    Attributes:
        mode: Its permissions; no more than those, so that no program gets the rights of its owner.
        mtime: When it was modified, in seconds since 1970.
    """

    mode: int
    mtime: float

    def apply(self, descriptor: int) -> None:
        """Give it to an open file or directory.

        Raises:
            OSError: If the system refuses.
        """
        # Never setuid bits: the files belong to another user here.
        if hasattr(os, "fchmod"):  # Windows has no such permissions
            os.fchmod(descriptor, self.mode & 0o777)
        if os.utime in os.supports_fd:
            os.utime(descriptor, (self.mtime, self.mtime))


class FileWriter:
    """Writes a file under another name, and gives it its own when it is complete.

    Args:
        name: The path or, with `directory`, the name.
        directory: The descriptor of the directory that it is in.
        is_private: Whether only its owner may read it until its permissions are known.

    Raises:
        OSError: If it cannot be written.
    """

    def __init__(self, name: bytes | Path, directory: int | None = None, *, is_private: bool = True) -> None:
        self._name = os.fsencode(name)
        self._directory = directory
        _refuse_special(self._name, directory)
        self._temporary = temporary_name(self._name)
        mode = 0o600 if is_private else 0o666
        try:
            self._descriptor: int | None = os.open(self._temporary, _NEW, mode, dir_fd=directory)
        except OSError as error:
            error.filename = os.fsdecode(name)  # which the caller knows
            raise

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes.

        Raises:
            OSError: If the disk is full, for example.
        """
        assert self._descriptor is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def commit(self, metadata: Metadata | None = None) -> None:
        """Rename over the target.

        Raises:
            OSError: If the name belongs to something that is not a file.
        """
        assert self._descriptor is not None
        if metadata is not None:
            metadata.apply(self._descriptor)
        descriptor, self._descriptor = self._descriptor, None
        os.close(descriptor)  # may report what could not be written
        replace(self._temporary, self._name, self._directory)

    def abort(self) -> None:
        """Remove it, unless it has its name already."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        with suppress(FileNotFoundError):
            os.unlink(self._temporary, dir_fd=self._directory)


class Tree:
    """A directory, and the directories in it, each opened from its parent and never through a link.

    Needs a system whose calls take descriptors of directories: not Windows.

    Args:
        root: The directory.

    Raises:
        OSError: If it cannot be opened.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, _DIRECTORY | _NO_FOLLOW)
        self._entered: tuple[bytes, ...] = ()
        self._current = self._root

    def enter(self, parts: tuple[bytes, ...]) -> int:
        """The descriptor of a directory, which is made if it is not there; valid until the next call.

        Raises:
            UnsafeNameError: If a part is a link, or not a directory.
            OSError: If the system refuses.
        """
        if parts != self._entered:
            opened = self.open(parts, make=True)
            self._leave()
            self._entered, self._current = parts, opened
        return self._current

    def open(self, parts: tuple[bytes, ...], *, make: bool = False) -> int:
        """A descriptor of a directory, to be closed by the caller.

        Raises:
            UnsafeNameError: If a part is a link, or not a directory.
            OSError: If it is not there, or the system refuses.
        """
        current = os.dup(self._root)
        try:
            for part in parts:
                inner = _open_in(current, part, make=make)
                os.close(current)
                current = inner
        except BaseException:
            os.close(current)
            raise
        return current

    def make(self, parts: tuple[bytes, ...], mode: int) -> bool:
        """Make a directory; returns whether it is new.

        Raises:
            UnsafeNameError: If the way there leads through a link.
            OSError: If something else has that name, or the system refuses.
        """
        holder = self.enter(parts[:-1])
        try:
            os.mkdir(parts[-1], mode, dir_fd=holder)
        except FileExistsError:
            os.close(_open_in(holder, parts[-1], make=False))
            return False
        return True

    def symlink(self, parts: tuple[bytes, ...], target: bytes) -> None:
        """Make a symbolic link.

        Raises:
            UnsafeNameError: If the way there leads through a link.
            OSError: If the name belongs to something that is not a file, or the system refuses.
        """
        holder, temporary = self.enter(parts[:-1]), temporary_name(parts[-1])
        os.symlink(target, temporary, dir_fd=holder)
        replace(temporary, parts[-1], holder)

    def read_symlink(self, parts: tuple[bytes, ...]) -> bytes | None:
        """What a symbolic link of the tree points to; None if it is something else.

        Raises:
            UnsafeNameError: If the way there leads through a link.
            OSError: If it is not there, or the system refuses.
        """
        holder = self.open(parts[:-1])
        try:
            return os.readlink(parts[-1], dir_fd=holder)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return None
        finally:
            os.close(holder)

    def link(self, parts: tuple[bytes, ...], target: tuple[bytes, ...]) -> None:
        """Make a hard link to another file of the tree.

        Raises:
            UnsafeNameError: If the target is not a file, or the way to one of both leads through a link.
            OSError: If there is no such file, or the system refuses.
        """
        holder, temporary = self.enter(parts[:-1]), temporary_name(parts[-1])
        source = self.open(target[:-1])
        try:
            if not stat.S_ISREG(os.stat(target[-1], dir_fd=source, follow_symlinks=False).st_mode):
                raise UnsafeNameError("it links to something that is not a file")
            os.link(target[-1], temporary, src_dir_fd=source, dst_dir_fd=holder, follow_symlinks=False)
        finally:
            os.close(source)
        replace(temporary, parts[-1], holder)

    def close(self) -> None:
        """Close all descriptors."""
        self._leave()
        os.close(self._root)

    def _leave(self) -> None:
        if self._current != self._root:
            os.close(self._current)
        self._entered, self._current = (), self._root


def _open_in(holder: int, name: bytes, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=holder)
    try:
        return os.open(name, _DIRECTORY | _NO_FOLLOW, dir_fd=holder)
    except OSError as error:
        if error.errno in _NOT_A_DIRECTORY:
            raise UnsafeNameError(f"{os.fsdecode(name)!r} is a link or a file where a directory should be") from None
        raise


def temporary_name(path: bytes) -> bytes:
    """Return a temporary name in the same directory."""
    beside = len(path) - len(os.path.basename(path))  # noqa: PTH119 - of bytes, which a Path cannot be
    return path[:beside] + b".masthead-" + secrets.token_hex(8).encode()


def replace(temporary: bytes, name: bytes, directory: int | None) -> None:
    """Rename a complete file over a file or a link; remove it if that is impossible.

    Raises:
        OSError: If the name belongs to something else, which stays.
    """
    try:
        _refuse_special(name, directory)
        os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    finally:
        # It is still there after a failure, and if both were links to one file.
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)


def _refuse_special(name: bytes, directory: int | None) -> None:
    """Refuse to replace a directory, or a device such as ``/dev/null``."""
    with suppress(FileNotFoundError):
        found = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if not stat.S_ISREG(found) and not stat.S_ISLNK(found):
            raise FileExistsError(errno.EEXIST, "something that is not a file is in the way", os.fsdecode(name))
