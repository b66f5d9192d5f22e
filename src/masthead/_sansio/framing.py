"""A stream of bytes, cut into lines."""

from __future__ import annotations

from typing import Final

from masthead.errors import ProtocolError

__all__ = ["LONGEST_LINE", "LineDecoder"]

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Far more than etcd stores for an object (1.5 MB), and little enough that a broken server does not fill memory."""


_BLANK_LINES: Final = b"\n" * 64


def _without_blank_lines(chunk: bytes) -> bytes:
    """A chunk with nothing but blank lines left out, which no server sends so many of: each would take a microsecond."""
    while b"\n\n" in chunk:
        chunk = chunk.replace(b"\n\n", b"\n")
    return chunk


class LineDecoder:
    r"""Cuts a stream of JSON values, one to a line, into its lines.

    Blank lines are skipped, and white space around a value, such as the first half of ``\r\n``, is taken away. Each
    byte is looked at a constant number of times, however the stream is cut: what is unfinished is kept in pieces, and
    these are put together once, when their line ends.

    Args:
        limit: How many bytes a line may have.
        verbatim: Whether lines are text, such as a log's: each is given as it came, blank ones too, but for its
            newline.
    """

    __slots__ = ("_length", "_limit", "_pieces", "_verbatim")

    def __init__(self, limit: int = LONGEST_LINE, *, verbatim: bool = False) -> None:
        self._limit = limit
        self._verbatim = verbatim
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take what came next, and give the lines that it completes.

        Raises:
            ProtocolError: if a line is longer than the limit. The stream cannot be read on after that, and what else
                was in the chunk is lost.
        """
        if not self._verbatim and _BLANK_LINES in chunk:
            chunk = _without_blank_lines(chunk)
        lines: list[bytes] = []
        start = 0
        # bytes.find hops from newline to newline, where bytes.split looks at each byte: 6 µs against 24 for 64 KiB
        # of events.
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
            self._check(self._length)
        return lines

    @property
    def rest(self) -> bytes:
        """What came after the last complete line; at the end of a stream, what was cut off."""
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
                "what answered is not an API server, or an object is far too large"
            )
