"""Writes recordings: entries become lines, lines frames, frames files.

::

    OPEN ──write──> lines wait ──flush, or 1 MiB──> a frame in the file ──rotate──> next file, which begins with a Head
     └──close──> CLOSED

A frame reaches the file in one write, so that a crash leaves whole frames, and at most a part of the last. The writer
blocks, and belongs to one thread at a time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._recording.entries import Head, Mark, encode_line
from masthead._recording.frames import FORMAT_VERSION, MAX_FRAME, encode_frame
from masthead._recording.zstd import load_codec
from masthead._version import __version__
from masthead.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._recording.entries import Entry

__all__ = ["WRITER", "RecordingWriter", "lock"]

_FRAME_BYTES: Final = 1 << 20
"""A frame is written when its lines have this size: larger ones compress little better, and cost more to read."""


class RecordingWriter:
    """Writes one file.

    Args:
        path: The file, which must not exist.
        now: Returns the time in microseconds since 1970.
        head: The fields of the head, apart from time and version.

    Attributes:
        path: The file.
        size: Its size, without lines that wait.

    Raises:
        ConfigError: If zstandard is not installed.
        RecordingError: If the file cannot be created.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, now: Callable[[], int], head: Callable[[int], Head] | None = None
    ) -> None:
        self.path: Final = Path(path)
        self.size = 0
        self._codec = load_codec()
        self._lines: list[bytes] = []
        self._waiting = 0
        self._times = (0, 0)
        self._is_closed = False
        try:
            # Only for its owner: objects may hold secrets that no rule names.
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except FileExistsError:
            raise RecordingError(f"{self.path} exists already: name another file, or remove it") from None
        except OSError as error:
            raise self._failure(error) from error
        self._descriptor = descriptor
        lock(descriptor)
        began = now()
        self.write(head(began) if head is not None else Head(time=began, version=FORMAT_VERSION, writer=WRITER))

    def write(self, entry: Entry) -> None:
        """Add an entry; it reaches the file with its frame.

        Raises:
            RecordingError: If it is too large, or the file cannot be written.
        """
        line = encode_line(entry)
        if len(line) > MAX_FRAME:
            raise RecordingError(f"an entry of {len(line)} bytes is too large for a recording")
        # A line is never divided, so that each frame can be read alone.
        if self._waiting + len(line) > MAX_FRAME:
            self.flush()
        first = self._times[0] if self._lines else entry.time
        self._times = (first, entry.time)
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting >= _FRAME_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the lines that wait.

        Raises:
            RecordingError: If the file cannot be written.
        """
        if not self._lines:
            return
        content = b"".join(self._lines)
        first, last = self._times
        frame = encode_frame(
            self._codec.compress(content), len(content), entries=len(self._lines), first=first, last=last
        )
        self._lines.clear()
        self._waiting = 0
        try:
            _write_all(self._descriptor, frame)
        except OSError as error:
            # A part of a frame would hide every later frame.
            os.ftruncate(self._descriptor, self.size)
            self._mark_loss(len(content), last)
            raise self._failure(error) from error
        self.size += len(frame)

    def _mark_loss(self, lost: int, time: int) -> None:
        """Note that a frame is missing, in the little space that a full disk may have left."""
        mark = encode_line(Mark(time=time, text=f"{lost} bytes could not be written", dropped=1))
        frame = encode_frame(self._codec.compress(mark), len(mark), entries=1, first=time, last=time)
        try:
            _write_all(self._descriptor, frame)
        except OSError:
            os.ftruncate(self._descriptor, self.size)
        else:
            self.size += len(frame)

    def close(self) -> None:
        """Write what waits, and close the file.

        Raises:
            RecordingError: If the file cannot be written; it is closed then, too.
        """
        if self._is_closed:
            return
        # Before the flush, which may fail: a second close must not write again.
        self._is_closed = True
        try:
            self.flush()
        finally:
            os.close(self._descriptor)

    def _failure(self, error: OSError) -> RecordingError:
        return RecordingError(
            f"the recording {self.path} cannot be written ({error.strerror}); give it a folder that exists, may be "
            "written to and has space"
        )


WRITER: Final = f"masthead {__version__}"


def lock(descriptor: int) -> bool:
    """Lock a recording until its descriptor is closed; return whether nobody else holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
