"""Line framing of a byte stream."""

from __future__ import annotations

from typing import Final

from masthead.errors import ProtocolError

__all__ = ["MAX_LINE", "LineDecoder"]

MAX_LINE: Final = 64 * 1024 * 1024
"""Far more than etcd stores for an object (1.5 MB), and small enough that a broken server cannot fill memory."""


_BLANK_LINES: Final = b"\n" * 64


def _without_blank_lines(chunk: bytes) -> bytes:
    """Collapse blank lines. Servers do not send many, and an attacker's would cost a microsecond each."""
    while b"\n\n" in chunk:
        chunk = chunk.replace(b"\n\n", b"\n")
    return chunk


class LineDecoder:
    r"""Splits a stream of JSON values, one per line, into lines.

    Blank lines are skipped, and white space around a value, such as the first half of ``\r\n``, is removed.
    Each byte is read a constant number of times, however the stream is chunked: an unfinished line is buffered in
    pieces, which are joined once, at the end of the line.

    Args:
        limit: The maximum length of a line in bytes.
        verbatim: Whether lines are text, such as a log: all lines are returned unchanged, without their newline.
    """

    __slots__ = ("_length", "_limit", "_pieces", "_verbatim")

    def __init__(self, limit: int = MAX_LINE, *, verbatim: bool = False) -> None:
        self._limit = limit
        self._verbatim = verbatim
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add a chunk, and return the lines that it completes.

        Raises:
            ProtocolError: If a line is longer than the limit. The stream cannot be continued after that, and
                the rest of the chunk is lost.
        """
        if not self._verbatim and _BLANK_LINES in chunk:
            chunk = _without_blank_lines(chunk)
        lines: list[bytes] = []
        start = 0
        # bytes.find jumps from newline to newline, where bytes.split reads each byte: 6 µs against 24 for 64 KiB of
        # events.
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            if self._pieces:
                line = self._finish(line)
            self._check(len(line))
            if self._verbatim:
                lines.append(line)
            elif value := line.strip():
                lines.append(value)
            start = end + 1
        if start < len(chunk):
            self._pieces.append(chunk[start:])
            self._length += len(chunk) - start
            # Checked before the line is complete, because it may never be.
            self._check(self._length)
        return lines

    @property
    def rest(self) -> bytes:
        """The bytes after the last complete line; at the end of a stream, a line that was cut short."""
        return b"".join(self._pieces)

    def _finish(self, end: bytes) -> bytes:
        self._pieces.append(end)
        line = self.rest
        self._pieces.clear()
        self._length = 0
        return line

    def _check(self, length: int) -> None:
        if length > self._limit:
            raise ProtocolError(
                f"a line of the stream has more than {self._limit} bytes; "
                "the response is not an API server's, or an object is far too large"
            )
