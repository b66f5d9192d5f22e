"""The file system of a container: a bounded tree in memory, with large files on disk."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias
from weakref import WeakSet

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Directory", "FileSystem", "Node", "RegularFile", "Symlink", "normalize"]

_IN_MEMORY: Final = 1024 * 1024
"""Bytes of a file that stay in memory."""
_MAX_NODES: Final = 100_000
_MAX_LINKS: Final = 40
"""The maximum number of symbolic links in a path, as in Linux."""
_MAX_PATH: Final = 4096
_MAX_NAME: Final = 255
"""Characters, as in Linux."""
_FIRST_FOLDERS: Final = ("/bin", "/dev", "/etc", "/home", "/root", "/tmp", "/usr/bin", "/var")


@dataclass(eq=False, slots=True)
class Directory:
    """A directory, whose contents count against the limit of its owner."""

    owner: FileSystem
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
    """A file, created by `FileSystem`."""

    def __init__(self, owner: FileSystem) -> None:
        self.mode = 0o644
        self.mtime: float = 0.0
        self.size: int = 0
        self.owner: FileSystem = owner
        self._content: tempfile.SpooledTemporaryFile[bytes] | None = None  # made when something is written
        self._followers: set[asyncio.Event] | None = None  # nearly no file has any

    def follow(self, grown: asyncio.Event) -> None:
        """Set an event when the file grows."""
        # Created on demand: there are many files, and few are followed.
        if self._followers is None:
            self._followers = set()
        self._followers.add(grown)

    def unfollow(self, grown: asyncio.Event) -> None:
        """Stop setting an event when the file grows."""
        if self._followers is not None:
            self._followers.discard(grown)

    def read(self, offset: int, size: int) -> bytes:
        """Read bytes from a position; empty at the end, and after the file was removed."""
        if self._content is None:
            return b""
        # Readers share the file object, so that each has to seek first.
        self._content.seek(offset)
        return self._content.read(size)

    def append(self, data: bytes) -> None:
        """Append data.

        Raises:
            OSError: If the file system is full.
        """
        # Before the write: a full disk must not change the content.
        self.owner.take(len(data))
        if self._content is None:
            self._content = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - it lives as long as the file
        self._content.seek(self.size)
        self._content.write(data)
        self.size += len(data)
        self.mtime = self.owner.now()
        for follower in self._followers or ():
            follower.set()

    def truncate(self) -> None:
        """Drop the content."""
        self.owner.take(-self.size)
        self.size = 0
        if self._content is not None:
            self._content.close()
            self._content = None


Node: TypeAlias = Directory | RegularFile | Symlink


class FileSystem:
    """A tree of files, with volumes mounted into it.

    Paths are absolute, and normalized by `normalize`. Everything runs in the server's event loop.

    Args:
        limit: The maximum size of all files together, in bytes.
        now: Returns the time, in seconds since the epoch.
        folders: The initial directories.
    """

    def __init__(self, limit: int, now: Callable[[], float], folders: Iterable[str] = _FIRST_FOLDERS) -> None:
        self.now = now
        self.on_change: Callable[[], object] | None = None
        """Called when a file or directory is written, created or removed."""
        self._limit = limit
        self._used = 0
        self._nodes = 0
        self.is_read_only: bool = False
        """Whether containers must not change anything in it."""
        self._mounts: dict[str, bool] = {}
        self._places: WeakSet[FileSystem] | None = None
        self._folders = folders
        self._root: Directory | None = None
        self._mount_first: Callable[[FileSystem], object] | None = None

    @property
    def is_used(self) -> bool:
        """Whether a path was ever looked up."""
        return self._root is not None

    @property
    def root(self) -> Directory:
        """The root directory, created on first use: most processes of workloads need no files."""
        if self._root is None:
            self._root = Directory(self, mtime=self.now())
            # Nobody has seen the files before.
            on_change, self.on_change = self.on_change, None
            for folder in self._folders:
                self.make_directory(folder, parents=True)
            if self._mount_first is not None:
                self._mount_first(self)
            self.on_change = on_change
        return self._root

    def mount_with(self, mount: Callable[[FileSystem], object]) -> None:
        """Set the function that mounts volumes before the first use; call it now if that has passed."""
        if self.is_used:
            mount(self)
        else:
            self._mount_first = mount

    def take(self, size: int) -> None:
        """Allocate bytes; a negative number frees them.

        Raises:
            OSError: If the limit would be exceeded.
        """
        # Freeing always works, even above the limit.
        if size > 0 and self._used + size > self._limit:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._used += size
        self.changed()

    def changed(self) -> None:
        """Notify listeners, also of other file systems with a mount of this one, that files have changed."""
        if self.on_change is not None:
            self.on_change()
        for files in tuple(self._places or ()):
            files.changed()

    def get(self, path: str, *, follow: bool = True) -> Node:
        """Return the node at a path.

        Args:
            path: The path.
            follow: Whether to follow a symbolic link at its end.

        Raises:
            OSError: If nothing exists there, or a part of the path is not a directory.
        """
        return self._walk(path, follow=follow, links=_MAX_LINKS)

    def _walk(self, path: str, *, follow: bool, links: int) -> Node:
        _check_length(path)
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
        """Return the file at a path; create it if it does not exist.

        Raises:
            OSError: If its directory does not exist, if the path is a directory, or if there are too many files.
        """
        try:
            node = self.file(path)
        except FileNotFoundError:
            node = RegularFile(self._parent(path)[0].owner)
            self._link(path, node)
        self._check_writable(path, node.owner)
        if truncate:
            node.truncate()
        return node

    def make_directory(self, path: str, *, parents: bool = False) -> None:
        """Make a directory; with `parents`, also missing parents, and it may exist.

        Raises:
            OSError: If it exists, if its parent does not, or if there are too many files.
        """
        if parents:
            self._make_directories(path)
            return
        self._link(path, Directory(self._parent(path)[0].owner), is_new=True)

    def _make_directories(self, path: str) -> None:
        _check_length(path)
        parent, current = self.root, ""
        for name in filter(None, path.split("/")):
            current = f"{current}/{name}"
            found = parent.entries.get(name)
            if found is None:
                found = Directory(parent.owner)
                self._add(parent, current, found)
            parent = found if isinstance(found, Directory) else self.directory(current)

    def mount(self, path: str, node: Directory | RegularFile, *, is_read_only: bool = False) -> None:
        """Mount a directory or file of another file system at a path, over whatever exists there.

        Args:
            path: The path; missing parents are created.
            node: The directory or file.
            is_read_only: Whether this path does not allow changes.

        Raises:
            OSError: If a part of the path is not a directory.
        """
        folder, _, name = path.rpartition("/")
        if folder:
            self.make_directory(folder, parents=True)
        self.directory(folder or "/").entries[name] = node
        self._mounts[path] = is_read_only
        node.owner.add_place(self)

    def add_place(self, files: FileSystem) -> None:
        """Add a file system with a mount of this one, to be notified of changes."""
        # Created on demand: nearly all file systems are mounted nowhere.
        if self._places is None:
            self._places = WeakSet()
        self._places.add(files)

    def _check_writable(self, path: str, owner: FileSystem) -> None:
        above = [mount for mount in self._mounts if f"{path}/".startswith(f"{mount}/")]
        if owner.is_read_only or (above and self._mounts[max(above, key=len)]):
            raise _error(errno.EROFS, path)

    def _parent(self, path: str) -> tuple[Directory, str]:
        folder, _, name = path.rpartition("/")
        return self.directory(folder or "/"), name

    def link(self, path: str, target: str) -> None:
        """Create a symbolic link, replacing a file or link of the same path.

        Raises:
            OSError: If its directory does not exist, or if the path is a directory.
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
        parent, name = self._parent(path)
        if not name or (is_new and name in parent.entries):
            raise _error(errno.EEXIST, path)
        self._add(parent, path, node)

    def _add(self, parent: Directory, path: str, node: Node) -> None:
        name = path.rpartition("/")[2]
        if len(name) > _MAX_NAME:
            raise _error(errno.ENAMETOOLONG, path)
        owner = parent.owner
        self._check_writable(path, owner)
        owner.take_node(path)
        node.mtime = self.now()
        parent.entries[name] = node
        owner.changed()

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link, or, if requested, a directory with its contents.

        Raises:
            OSError: If nothing exists there, or if it is a directory and that was not requested.
        """
        node = self.get(path, follow=False)
        # A link to a directory is removed as a link: `get` did not follow it.
        if isinstance(node, Directory) and not recursive:
            raise _error(errno.EISDIR, path)
        if node is self.root:
            raise _error(errno.EBUSY, path)
        parent, name = self._parent(path)
        if _is_mount(parent, node):
            raise _error(errno.EBUSY, path)
        self._check_writable(path, parent.owner)
        del parent.entries[name]
        parent.owner.changed()
        parent.owner.forget(node)

    def take_node(self, path: str) -> None:
        """Count one more file, directory or link.

        Raises:
            OSError: If there are too many.
        """
        if self._nodes >= _MAX_NODES:
            raise _error(errno.ENOSPC, path)
        self._nodes += 1

    def forget(self, node: Node) -> None:
        """Free the space of a node and everything below it, after its removal from the tree."""
        # A loop, because a tree may be deeper than Python's recursion limit.
        pending = [node]
        while pending:
            current = pending.pop()
            self._nodes -= 1
            if isinstance(current, Directory):
                # A volume outlives its mount point.
                pending.extend(entry for entry in current.entries.values() if not _is_mount(current, entry))
            elif isinstance(current, RegularFile):
                current.truncate()

    def walk(self, path: str = "/", *, follow: bool = False) -> Iterator[tuple[str, Node]]:
        """Iterate over a node and everything below it, sorted by name, without following links below.

        Args:
            path: The path.
            follow: Whether to follow a symbolic link at its end.

        Raises:
            OSError: If nothing exists there.
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
        """Drop all files, except those of volumes."""
        if self._root is not None:
            self.forget(self._root)
        self._root = Directory(self)
        self._mounts.clear()
        self._used = self._nodes = 0


def _is_mount(parent: Directory, node: Node) -> bool:
    return not isinstance(node, Symlink) and node.owner is not parent.owner


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


def _check_length(path: str) -> None:
    if len(path) > _MAX_PATH:
        raise _error(errno.ENAMETOOLONG, path)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
