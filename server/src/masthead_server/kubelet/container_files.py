"""`ContainerFiles`: the files of a container, as a mapping."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Protocol, TypeVar

from masthead._module import set_module
from masthead_server.argument_checks import check_type
from masthead_server.kubelet.filesystem import RegularFile, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead_server.kubelet.filesystem import FileSystem

__all__ = ["ContainerFiles"]

ResultT = TypeVar("ResultT")


class _Within(Protocol):
    """Calls a function with the file system, in the server's event loop."""

    def __call__(self, act: Callable[[FileSystem], ResultT], /) -> ResultT: ...


@set_module("masthead.server")
class ContainerFiles(MutableMapping[str, bytes]):
    """The files of a container by their absolute paths: `Kubelet.files`.

    ``files["/etc/motd"] = b"hello"`` creates a file, and the directories above it; the built-in shell reads and writes
    the same files. They survive a restart of the container, but not its pod. All methods are thread-safe.
    """

    def __init__(self, within: _Within) -> None:
        self._within = within

    def __getitem__(self, path: str) -> bytes:
        check_type("the path of a file", path, str, "text")

        def read(files: FileSystem) -> bytes:
            found = files.file(normalize(path))
            return found.read(0, found.size)

        try:
            return self._within(read)
        except OSError:
            raise KeyError(path) from None

    def __setitem__(self, path: str, content: bytes) -> None:
        """Create or replace a file.

        Raises:
            TypeError: If the path is no text, or the content no bytes.
            OSError: If the file system is full, if the path is a directory, or if it leads through a file.
        """
        check_type("the path of a file", path, str, "text")
        # A number would become that many zero bytes.
        check_type("the content of a file", content, bytes | bytearray | memoryview, "bytes")

        def write(files: FileSystem) -> None:
            absolute = normalize(path)
            files.make_directory(absolute.rpartition("/")[0] or "/", parents=True)
            files.create(absolute).append(bytes(content))

        self._within(write)

    def __delitem__(self, path: str) -> None:
        if path not in self:
            raise KeyError(path)
        self._within(lambda files: files.remove(normalize(path)))

    def __iter__(self) -> Iterator[str]:
        def paths(files: FileSystem) -> list[str]:
            return [path for path, node in files.walk() if isinstance(node, RegularFile)]

        return iter(self._within(paths))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, path: object) -> bool:
        def is_file(files: FileSystem) -> bool:
            try:
                return isinstance(files.get(normalize(str(path)), follow=False), RegularFile)
            except OSError:
                return False

        return self._within(is_file)
