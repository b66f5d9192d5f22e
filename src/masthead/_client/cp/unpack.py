"""What comes out of a container, as local files: everything that arrives is checked before it is written.

::

    stdout ──> TarDecoder ──> members ──> TreeUnpacker ──> a directory      of  tar -c .
                                     └──> FileUnpacker ──> one file         of  tar -c NAME
    stdout ──────────────────────────────> ContentWriter ─> one file        of  cat
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, Protocol, cast

from masthead._client.cp.local_files import FileWriter, Metadata, Tree
from masthead._client.cp.paths import UnsafeNameError, leads_out, member_parts
from masthead._sansio.tar_decoder import MEMBER_END, TarDecoder
from masthead._sansio.tar_headers import MemberType, TarError, TarMember
from masthead.errors import CopyError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead._client.cp.progress import CopyCounter
    from masthead._sansio.tar_decoder import TarEvent

__all__ = ["ContentWriter", "CopySink", "FileUnpacker", "StreamWriter", "TreeUnpacker"]

_MAX_SKIPPED: Final = 1000
"""How many members that were left out an error lists."""
_SHOWN: Final = 5
"""How many of them its message names."""
_MAX_REMEMBERED: Final = 10_000
"""How many of them are remembered, because hard links to them are left out, too."""


class CopySink(Protocol):
    """Takes what a command prints. Its methods block, and are called one after the other."""

    def feed(self, data: bytes) -> None:
        """Take bytes.

        Raises:
            CopyError: If they are not what they should be, or lead out of the target.
            OSError: If they cannot be written.
        """

    def finish(self) -> None:
        """All has come, and the command has succeeded.

        Raises:
            CopyError: If it is not complete.
            OSError: If it cannot be written.
        """

    def close(self) -> None:
        """Remove incomplete files; always called at the end."""


class TreeUnpacker:
    """Writes the members of an archive into a directory, each file under another name until it is complete.

    Args:
        root: The directory; created if it does not exist, but not its parent.
        counter: Counts the bytes written.
        preserve: Whether to preserve permissions and modification times.
        skip_special: Whether what cannot be copied is left out without an error at the end.

    Raises:
        OSError: If the directory cannot be made or opened.
    """

    def __init__(self, root: Path, counter: CopyCounter, *, preserve: bool, skip_special: bool) -> None:
        self._root = root
        self._is_new = _make_directory(root, 0o700 if preserve else 0o777)
        self._tree = Tree(root)
        self._counter = counter
        self._preserve = preserve
        self._skip_special = skip_special
        self._decoder = TarDecoder()
        self._file: tuple[FileWriter, Metadata] | None = None
        self._unfinished: list[tuple[tuple[bytes, ...], Metadata]] = []
        self._root_metadata: Metadata | None = None
        self._skipped: list[str] = []
        self._skipped_count = 0
        self._left_out: set[bytes] = set()

    def feed(self, data: bytes) -> None:
        """Write a chunk; see `CopySink`."""
        for event in _events(self._decoder, data):
            try:
                self._handle(event)
            except OSError as error:
                error.filename = str(self._root / self._counter.path)  # which was only a name
                raise

    def finish(self) -> None:
        """Check that all has come; see `CopySink`."""
        _check_end(self._decoder)
        # After their content: writing into a directory changes its time, and its mode may forbid it.
        self._finish_directories(())
        if self._is_new and self._root_metadata is not None:
            self._root_metadata.apply(self._tree.enter(()))
        self._is_new = False
        # At the end, so that one special file does not cost the rest of the copy.
        if self._skipped and not self._skip_special:
            more = self._skipped_count - _SHOWN
            raise CopyError(
                "all was copied but "
                f"{'; '.join(self._skipped[:_SHOWN])}{f'; and {more:,} others' if more > 0 else ''}; leave "
                "such out with skip_special=True",
                skipped=tuple(self._skipped),
            )

    def close(self) -> None:
        """Remove incomplete files; see `CopySink`."""
        if self._file is not None:
            self._file[0].abort()
            self._file = None
        with suppress(OSError, UnsafeNameError):
            self._finish_directories(())
        self._tree.close()
        if self._is_new:
            with suppress(OSError):  # something is in it
                self._root.rmdir()

    def _handle(self, event: TarEvent) -> None:
        if isinstance(event, TarMember):
            self._begin(event)
        elif self._file is None:
            pass  # the content of something that was left out
        elif event is MEMBER_END:
            self._end_file()
        else:
            self._file[0].write(event)
            self._counter.bytes_done += len(event)

    def _begin(self, member: TarMember) -> None:
        name = os.fsdecode(member.name)
        try:
            parts = member_parts(member.name)
            self._counter.path = os.fsdecode(b"/".join(parts))
            self._finish_directories(parts)
            if parts:
                self._write(member, parts)
            elif member.type is not MemberType.DIRECTORY:
                raise UnsafeNameError("it would replace the target")
            elif self._preserve:
                self._root_metadata = Metadata(member.mode, member.mtime)
        except UnsafeNameError as error:
            raise CopyError(
                f"the archive has a member {name!r} that is refused: {error}; nothing was written outside of "
                "the target",
                path=name,
            ) from None

    def _write(self, member: TarMember, parts: tuple[bytes, ...]) -> None:
        self._left_out.discard(b"/".join(parts))
        kept = Metadata(member.mode, member.mtime)
        if member.type is MemberType.FILE:
            holder = self._tree.enter(parts[:-1])
            self._file = FileWriter(parts[-1], holder, is_private=self._preserve), kept
        elif member.type is MemberType.DIRECTORY:
            # Private until it is complete; the final mode may be read-only.
            is_new = self._tree.make(parts, 0o700 if self._preserve else 0o777)
            if is_new and self._preserve:
                self._unfinished.append((parts, kept))
        elif member.type is MemberType.HARD_LINK:
            self._hard_link(parts, member_parts(member.link))
        elif member.type is MemberType.SYMLINK:
            self._symlink(parts, member.link)
        else:
            self._skip(parts, "which is a device, a FIFO or the like")

    def _symlink(self, parts: tuple[bytes, ...], target: bytes) -> None:
        # A later member could be written through such a link.
        if leads_out(target, len(parts) - 1):
            self._skip(parts, f"which links to {os.fsdecode(target)!r}, outside of the copy")
            return
        self._tree.symlink(parts, target)
        self._counter.files_done += 1

    def _hard_link(self, parts: tuple[bytes, ...], target: tuple[bytes, ...]) -> None:
        """Make a hard link or, if the other name is one of a symbolic link, such a link once more.

        From another directory, the same target may lead out of the copy: it is checked like that of any symbolic link.
        """
        if not target:
            raise UnsafeNameError("it links to the copy itself")
        path = b"/".join(target)
        is_left_out = path in self._left_out  # and if something has the name, it was there before
        symlink = None
        try:
            if not is_left_out:
                symlink = self._tree.read_symlink(target)
        except FileNotFoundError:
            is_left_out = True
        if is_left_out:
            self._skip(parts, f"which is a hard link to {os.fsdecode(path)!r}, which is not in the copy")
        # A hard link to a symbolic link is a second symbolic link, and not a link to its target.
        elif symlink is not None:
            self._symlink(parts, symlink)
        else:
            self._tree.link(parts, target)
            self._counter.files_done += 1

    def _end_file(self) -> None:
        assert self._file is not None
        writer, kept = self._file
        writer.commit(kept if self._preserve else None)
        self._file = None
        self._counter.files_done += 1

    def _finish_directories(self, parts: tuple[bytes, ...]) -> None:
        """Give directories that a member is not in their permissions and times, which writing to them would change."""
        while self._unfinished and parts[: len(self._unfinished[-1][0])] != self._unfinished[-1][0]:
            directory, kept = self._unfinished.pop()
            kept.apply(self._tree.enter(directory))

    def _skip(self, parts: tuple[bytes, ...], why: str) -> None:
        self._skipped_count += 1
        # A hostile archive may have millions of members.
        if len(self._left_out) < _MAX_REMEMBERED:
            self._left_out.add(b"/".join(parts))
        if len(self._skipped) < _MAX_SKIPPED:
            self._skipped.append(f"{self._counter.path!r}, {why}")


class FileUnpacker:
    """Writes the only member of an archive to a file, which has its name when the command has succeeded.

    Args:
        path: The path of the file.
        counter: Counts the bytes written.
        preserve: Whether to preserve permissions and modification time.

    Raises:
        OSError: If the file cannot be written.
    """

    def __init__(self, path: Path, counter: CopyCounter, *, preserve: bool) -> None:
        self._writer = FileWriter(path, is_private=preserve)
        self._preserve = preserve
        self._counter = counter
        self._decoder = TarDecoder()
        self._member: TarMember | None = None

    def feed(self, data: bytes) -> None:
        """Write a chunk; see `CopySink`."""
        for event in _events(self._decoder, data):
            if isinstance(event, TarMember):
                self._begin(event)
            elif event is MEMBER_END:
                self._counter.files_done += 1
            else:
                self._writer.write(event)
                self._counter.bytes_done += len(event)

    def finish(self) -> None:
        """Give the file its name; see `CopySink`."""
        _check_end(self._decoder)
        if (member := self._member) is None:
            raise CopyError("the archive is empty")
        self._writer.commit(Metadata(member.mode, member.mtime) if self._preserve else None)

    def close(self) -> None:
        """Remove the file if it is not complete; see `CopySink`."""
        self._writer.abort()

    def _begin(self, member: TarMember) -> None:
        # The source was a file when it was probed; the container may lie, or have changed it.
        if self._member is not None or member.type is not MemberType.FILE:
            name = os.fsdecode(member.name)
            raise CopyError(
                f"the archive should hold one file, and has a member {name!r} that is another or none",
                path=name,
            )
        self._member = member
        self._counter.bytes_total = member.size


class ContentWriter:
    """Writes bytes to a file, which has its name when the command has succeeded.

    Args:
        path: The path of the file.
        counter: Counts the bytes written.

    Raises:
        OSError: If the file cannot be written.
    """

    def __init__(self, path: Path, counter: CopyCounter) -> None:
        self._writer = FileWriter(path, is_private=False)
        self._counter = counter

    def feed(self, data: bytes) -> None:
        """Write a chunk; see `CopySink`."""
        self._writer.write(data)
        self._counter.bytes_done += len(data)

    def finish(self) -> None:
        """Give the file its name; see `CopySink`."""
        self._writer.commit()
        self._counter.files_done += 1

    def close(self) -> None:
        """Remove the file if it is not complete; see `CopySink`."""
        self._writer.abort()


class StreamWriter:
    """Writes bytes to a file that is open already, and stays so.

    Args:
        file: The file.
        counter: Counts the bytes written.
    """

    def __init__(self, file: IO[bytes], counter: CopyCounter) -> None:
        self._file = file
        self._counter = counter

    def feed(self, data: bytes) -> None:
        """Write a chunk; see `CopySink`."""
        view = memoryview(data)
        while view:
            # An unbuffered file may take less than all.
            view = view[cast("int | None", self._file.write(view)) or len(view) :]
        self._counter.bytes_done += len(data)

    def finish(self) -> None:
        """All was written; see `CopySink`."""
        self._counter.files_done += 1

    def close(self) -> None:
        """Nothing is to be removed."""


def _make_directory(path: Path, mode: int) -> bool:
    """Make a directory, if it is not there; returns whether it is new."""
    try:
        path.mkdir(mode)
    except FileExistsError:
        return False
    return True


def _events(decoder: TarDecoder, data: bytes) -> Iterator[TarEvent]:
    try:
        yield from decoder.feed(data)
    except TarError as error:
        raise CopyError(f"what tar sent cannot be read: {error}") from None


def _check_end(decoder: TarDecoder) -> None:
    try:
        decoder.finish()
    except TarError as error:
        raise CopyError(f"what tar sent is not complete: {error}") from None
