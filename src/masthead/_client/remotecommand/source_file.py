"""Files that are sent to stdin: read as their bytes arrive."""

from __future__ import annotations

import io
import select
import socket
from typing import IO, TYPE_CHECKING, Final, cast

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["file_pieces"]

_READ_SIZE: Final = 2**18
_RAW: Final = (io.FileIO, socket.SocketIO)


def file_pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Read a file piece by piece, each as soon as it is available. It blocks between pieces.

    No lock of a pipe, a terminal or a socket is held while it blocks, so that the program may close it, or end.

    Args:
        file: A file that is open for reading bytes. Descriptors that do not block are waited for.

    Raises:
        ArgumentError: If it is a text file, or has nothing to read at the moment, and no descriptor to wait for.
        Exception: Whatever reading it raises.
    """
    source: object = file
    if isinstance(source, io.TextIOBase):
        raise ArgumentError(
            f"stdin takes bytes, and was given a {type(file).__name__}, which has text; open files in binary mode, and "
            "give sys.stdin.buffer for sys.stdin",
            value=file,
        )
    if type(file) is io.BufferedReader and type(file.raw) in _RAW:
        # Its `read1` would block with its lock held, for which the end of the program does not wait: it aborts. Only
        # for these: what else has a descriptor may read something else from it, such as compressed bytes.
        source = file.raw
        if held := _take_buffered(file):
            yield held
    while True:
        piece = _read_some(source)
        # A descriptor in non-blocking mode has nothing to read yet.
        if piece is None:
            _wait_until_readable(source)
        elif piece:
            yield cast("bytes", piece)
        else:
            return


def _take_buffered(file: io.BufferedReader) -> bytes:
    """Take what a file has read ahead for its program, without blocking.

    There is no way to ask how much that is: `peek` reads if the buffer is empty. So the raw file pretends that there is
    nothing.
    """
    attributes = vars(file.raw)
    attributes["readinto"] = _read_nothing
    try:
        return file.read1(len(file.peek() or b""))
    finally:
        del attributes["readinto"]


def _read_nothing(buffer: object) -> None:
    """Like the `readinto` of a raw file that would block."""
    del buffer


def _read_some(file: object) -> object:
    """The next bytes, at most one read of them if the file can do that; None if it would have to wait for them."""
    if hasattr(file, "read1"):
        try:
            return cast("io.BufferedReader", file).read1(_READ_SIZE)
        except io.UnsupportedOperation:  # as io.BufferedIOBase does, for those who inherit from it
            pass
    return cast("IO[bytes]", file).read(_READ_SIZE)


def _wait_until_readable(file: object) -> None:
    try:
        descriptor = cast("IO[bytes]", file).fileno()
    except (AttributeError, OSError):
        raise ArgumentError(
            f"stdin was given a {type(file).__name__} that returns None, and has no descriptor to wait for; "
            "give a file that blocks",
            value=file,
        ) from None
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
