"""A local file or directory as the bytes of a tar archive, made while they are sent."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from masthead._sansio.tar_headers import BLOCK, MemberType, TarMember, encode_header, pad
from masthead.errors import CopyError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from masthead._client.cp.progress import CopyCounter

__all__ = ["Archive", "ArchiveSize", "file_chunks", "pad_chunks"]

_READ_SIZE: Final = 2**18
_END: Final = bytes(2 * BLOCK)
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class ArchiveSize:
    """How much there is to send.

    Attributes:
        content: The bytes of all files.
        archive: The bytes of the archive.
    """

    content: int
    archive: int


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Path
    member: TarMember


class Archive:
    """The archive of a local file or directory. Links in it are sent as links.

    Args:
        source: Its path; if that is a link, what it leads to is sent.
        name: Its name in the archive; empty to send what the directory holds, and not the directory.
        skip_special: Whether devices, FIFOs and sockets are left out; otherwise they are an error.
    """

    def __init__(self, source: Path, name: str, *, skip_special: bool = False) -> None:
        self._source = source
        self._name = name
        self._skip_special = skip_special

    def size(self) -> ArchiveSize:
        """Look at everything that is to be sent.

        Raises:
            CopyError: If something cannot be sent.
            OSError: If something cannot be looked at.
        """
        content, archive = 0, len(_END)
        for entry in self._entries():
            content += entry.member.size
            archive += len(encode_header(entry.member)) + pad(entry.member.size)
        return ArchiveSize(content, archive)

    def chunks(self, counter: CopyCounter) -> Generator[bytes]:
        """The bytes of the archive.

        Args:
            counter: Counts the bytes read.

        Raises:
            CopyError: If something cannot be sent, or a file becomes shorter during the copy.
            OSError: If something cannot be read.
        """
        for entry in self._entries():
            size = entry.member.size
            counter.path = os.fsdecode(entry.member.name)
            yield encode_header(entry.member)
            if entry.member.type is MemberType.FILE:
                yield from file_chunks(entry.path, size, counter)
                # Tar aligns content to blocks.
                yield bytes(pad(size) - size)
        yield _END

    def _entries(self) -> Iterator[_Entry]:
        """Everything from the source downwards, a directory before what it holds."""
        found = self._source.stat()
        if not self._name and not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self._source))
        if self._name:
            yield from self._entry(self._source, self._name, found)
        if not stat.S_ISDIR(found.st_mode):
            return
        # Not recursive, because directories may be nested more deeply than Python's calls.
        waiting = [_children(self._source, self._name)]
        while waiting:
            if (child := next(waiting[-1], None)) is None:
                waiting.pop()
                continue
            path, name = child
            found = path.lstat()
            yield from self._entry(path, name, found)
            if stat.S_ISDIR(found.st_mode):
                waiting.append(_children(path, name))

    def _entry(self, path: Path, name: str, found: os.stat_result) -> Iterator[_Entry]:
        named = TarMember(os.fsencode(name), mode=stat.S_IMODE(found.st_mode), mtime=max(found.st_mtime, 0.0))
        if stat.S_ISREG(found.st_mode):
            yield _Entry(path, replace(named, size=found.st_size))
        elif stat.S_ISDIR(found.st_mode):
            yield _Entry(path, replace(named, type=MemberType.DIRECTORY))
        elif stat.S_ISLNK(found.st_mode):
            link = os.fsencode(os.readlink(path))  # noqa: PTH115 - verbatim, not as a Path spells it
            yield _Entry(path, replace(named, type=MemberType.SYMLINK, link=link))
        elif not self._skip_special:
            raise CopyError(
                f"{str(path)!r} is a device, a FIFO or a socket, which cannot be copied; leave it out with "
                "skip_special=True",
                path=str(path),
            )


def _children(path: Path, name: str) -> Iterator[tuple[Path, str]]:
    """The paths of what a directory holds, and the names in the archive."""
    return ((child, f"{name}/{child.name}" if name else child.name) for child in sorted(path.iterdir()))


def file_chunks(path: Path, size: int, counter: CopyCounter) -> Generator[bytes]:
    """The bytes of a local file, of the size that it had before: no more, though it may grow.

    Args:
        path: The path, which must not be a link.
        size: The size.
        counter: Counts the bytes read.

    Raises:
        CopyError: If it has become shorter.
        OSError: If it cannot be read.
    """
    missing = size
    with os.fdopen(os.open(path, _OPEN), "rb", buffering=0) as file:
        # No more than the header announced: a log may grow while it is copied.
        while missing and (piece := file.read(min(missing, _READ_SIZE))):
            missing -= len(piece)
            counter.bytes_done += len(piece)
            yield piece
    if missing:
        raise CopyError(f"{str(path)!r} has become shorter while it was copied; copy it again", path=str(path))
    counter.files_done += 1


def pad_chunks(chunks: Iterator[bytes], size: int) -> Generator[bytes]:
    """The bytes of an archive, filled up with zeros to the size that was announced.

    Raises:
        CopyError: If it has more.
    """
    for chunk in chunks:
        size -= len(chunk)
        # Files were added since the size was announced, which the command reads exactly.
        if size < 0:
            raise CopyError("the directory has changed while it was copied; copy it again")
        yield chunk
    yield bytes(size)
