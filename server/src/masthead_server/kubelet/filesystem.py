"""The file system of a container: a tree in memory, whose larger files are on disk, with a limit for all of them."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Directory", "FileSystem", "Node", "RegularFile", "Symlink", "normalize"]

_IN_MEMORY: Final = 1024 * 1024
"""Bytes of a file that stay in memory."""
_MAX_NODES: Final = 100_000
_MAX_LINKS: Final = 40
"""Symbolic links that a path may lead through, as in Linux."""
_FIRST_FOLDERS: Final = ("/bin", "/dev", "/etc", "/home", "/root", "/tmp", "/usr/bin", "/var")


@dataclass(eq=False, slots=True)
class Directory:
    """A directory."""

    entries: dict[str, Node] = field(default_factory=dict[str, "Node"])
    mode: int = 0o755
    mtime: float = 0.0


@dataclass(eq=False, slots=True)
class Symlink:
    """A symbolic link."""

    target: str
    mode: int = 0o777
    mtime: float = 0.0


class RegularFile:
    """A file; `FileSystem` makes it."""

    def __init__(self, owner: FileSystem) -> None:
        self.mode = 0o644
        self.mtime: float = 0.0
        self.size: int = 0
        self._owner = owner
        self._content: tempfile.SpooledTemporaryFile[bytes] | None = None  # made when something is written

    def read(self, offset: int, size: int) -> bytes:
        """Read up to so many bytes from a position on; empty at the end, and once the file is removed."""
        if self._content is None:
            return b""
        # Readers share the file: each brings its position.
        self._content.seek(offset)
        return self._content.read(size)

    def append(self, data: bytes) -> None:
        """Add to the end.

        Raises:
            OSError: If the file system is full.
        """
        # Before the write: a full disk must not change the content.
        self._owner.take(len(data))
        if self._content is None:
            self._content = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - it lives as long as the file
        self._content.seek(self.size)
        self._content.write(data)
        self.size += len(data)
        self.mtime = self._owner.now()

    def truncate(self) -> None:
        """Drop the content."""
        self._owner.take(-self.size)
        self.size = 0
        if self._content is not None:
            self._content.close()
            self._content = None


Node: TypeAlias = Directory | RegularFile | Symlink


class FileSystem:
    """A tree of files.

    Paths are absolute, and normalized by `normalize`. Everything runs in the server's event loop.

    Args:
        limit: How many bytes all files may have together.
        now: Returns the time, in seconds since the epoch.
    """

    def __init__(self, limit: int, now: Callable[[], float]) -> None:
        self.now = now
        self.on_change: Callable[[], object] | None = None
        """Called when a file or directory is written, created or removed."""
        self._limit = limit
        self._used = 0
        self._nodes = 0
        self.root: Directory = Directory(mtime=now())
        for folder in _FIRST_FOLDERS:
            self.make_directory(folder, parents=True)

    def take(self, size: int) -> None:
        """Use some bytes; a negative number gives them back.

        Raises:
            OSError: If there are not so many.
        """
        # Giving back always works, even if the limit was exceeded.
        if size > 0 and self._used + size > self._limit:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._used += size
        self.changed()

    def changed(self) -> None:
        """Tell whoever depends on files that some have changed."""
        if self.on_change is not None:
            self.on_change()

    def get(self, path: str, *, follow: bool = True) -> Node:
        """Return the node at a path.

        Args:
            path: The path.
            follow: Whether a symbolic link at its end is followed.

        Raises:
            OSError: If there is nothing, or a part of the path is no directory.
        """
        return self._walk(path, follow=follow, links=_MAX_LINKS)

    def _walk(self, path: str, *, follow: bool, links: int) -> Node:
        node: Node = self.root
        names = path.strip("/").split("/") if path.strip("/") else []
        for index, name in enumerate(names):
            if not isinstance(node, Directory):
                raise _error(errno.ENOTDIR, path)
            found = node.entries.get(name)
            if found is None:
                raise _error(errno.ENOENT, path)
            # A link within the path is always followed, only the last one is optional.
            if isinstance(found, Symlink) and (follow or index < len(names) - 1):
                if not links:
                    raise _error(errno.ELOOP, path)
                # A relative target starts at the folder of the link.
                parent = "/" + "/".join(names[:index])
                rest = "/".join(names[index + 1 :])
                return self._walk(normalize(f"{found.target}/{rest}", parent), follow=follow, links=links - 1)
            node = found
        return node

    def directory(self, path: str) -> Directory:
        """Return a directory.

        Raises:
            OSError: If it does not exist.
        """
        node = self.get(path)
        if not isinstance(node, Directory):
            raise _error(errno.ENOTDIR, path)
        return node

    def file(self, path: str) -> RegularFile:
        """Return a file.

        Raises:
            OSError: If it does not exist.
        """
        node = self.get(path)
        if not isinstance(node, RegularFile):
            raise _error(errno.EISDIR, path)
        return node

    def create(self, path: str, *, truncate: bool = True) -> RegularFile:
        """Return the file at a path, which is created if it does not exist.

        Raises:
            OSError: If its directory does not exist, if it is a directory itself, or if there are too many files.
        """
        try:
            node = self.file(path)
        except FileNotFoundError:
            node = RegularFile(self)
            self._link(path, node)
        if truncate:
            node.truncate()
        return node

    def make_directory(self, path: str, *, parents: bool = False) -> None:
        """Make a directory; with `parents`, also those above it, and it may exist.

        Raises:
            OSError: If it exists, if the one above it does not, or if there are too many.
        """
        if parents:
            current = ""
            for name in path.strip("/").split("/"):
                current = f"{current}/{name}"
                try:
                    self.directory(current)
                except FileNotFoundError:
                    self._link(current, Directory())
            return
        self._link(path, Directory(), is_new=True)

    def link(self, path: str, target: str) -> None:
        """Create a symbolic link, replacing a file or link of the same path.

        Raises:
            OSError: If its directory does not exist, or if it is a directory itself.
        """
        self._unlink_file(path)
        self._link(path, Symlink(target))

    def _unlink_file(self, path: str) -> None:
        try:
            node = self.get(path, follow=False)
        except FileNotFoundError:
            return
        if not isinstance(node, Directory):
            self.remove(path)

    def _link(self, path: str, node: Node, *, is_new: bool = False) -> None:
        folder, _, name = path.rpartition("/")
        parent = self.directory(folder or "/")
        if not name or (is_new and name in parent.entries):
            raise _error(errno.EEXIST, path)
        if self._nodes >= _MAX_NODES:
            raise _error(errno.ENOSPC, path)
        self._nodes += 1
        node.mtime = self.now()
        parent.entries[name] = node
        self.changed()

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link, or, if it is asked for, a directory with all that is in it.

        Raises:
            OSError: If there is nothing, or if it is a directory.
        """
        node = self.get(path, follow=False)
        # A link to a directory is removed as a link: `get` did not follow it.
        if isinstance(node, Directory) and not recursive:
            raise _error(errno.EISDIR, path)
        if node is self.root:
            raise _error(errno.EBUSY, path)
        folder, _, name = path.rpartition("/")
        del self.directory(folder or "/").entries[name]
        self.changed()
        self._forget(node)

    def _forget(self, node: Node) -> None:
        # A loop, because a tree may be deeper than the stack of Python.
        pending = [node]
        while pending:
            current = pending.pop()
            self._nodes -= 1
            if isinstance(current, Directory):
                pending.extend(current.entries.values())
            elif isinstance(current, RegularFile):
                current.truncate()

    def walk(self, path: str = "/", *, follow: bool = False) -> Iterator[tuple[str, Node]]:
        """Iterate over the node at a path and everything below, by name; links below are not followed.

        Args:
            path: The path.
            follow: Whether a symbolic link at its end is followed.

        Raises:
            OSError: If there is nothing.
        """
        pending = [(path, self.get(path, follow=follow))]
        while pending:
            current, node = pending.pop()
            yield current, node
            if isinstance(node, Directory):
                base = current.rstrip("/")
                # The stack is popped from its end.
                entries = sorted(node.entries.items(), reverse=True)
                pending.extend((f"{base}/{name}", entry) for name, entry in entries)

    def close(self) -> None:
        """Drop all files."""
        for _, node in self.walk():
            if isinstance(node, RegularFile):
                node.truncate()
        self.root = Directory()
        self._used = self._nodes = 0


def normalize(path: str, cwd: str = "/") -> str:
    """Return an absolute path without ``.``, ``..`` and repeated slashes."""
    names: list[str] = []
    for name in (path if path.startswith("/") else f"{cwd}/{path}").split("/"):
        if name == "..":
            # ".." at the root stays there, as in Linux.
            names = names[:-1]
        elif name not in {"", "."}:
            names.append(name)
    return "/" + "/".join(names)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
