"""Header blocks: names and values, compressed by one zlib stream per direction of a session."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

from masthead._spdy.dictionary import DICTIONARY
from masthead._spdy.errors import SpdyError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HeaderCompressor", "HeaderDecompressor"]

_LENGTH: Final = struct.Struct(">I")

_WINDOW_BITS: Final = 11
"""A window of 2 KiB holds the dictionary. The default would cost 256 KiB of memory for each session."""

_MEMORY_LEVEL: Final = 1


class HeaderCompressor:
    """Encodes the header blocks of one direction, in the order in which they are sent."""

    __slots__ = ("_zlib",)

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(
            zlib.Z_BEST_COMPRESSION, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zdict=DICTIONARY
        )

    def compress(self, headers: Mapping[str, str]) -> bytes:
        """The block of these headers. Names are sent in lower case, as SPDY demands."""
        parts = [_LENGTH.pack(len(headers))]
        for name, value in headers.items():
            for text in (name.lower(), value):
                encoded = text.encode("utf-8", "surrogateescape")
                parts += (_LENGTH.pack(len(encoded)), encoded)
        return self._zlib.compress(b"".join(parts)) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class HeaderDecompressor:
    """Decodes the header blocks of one direction, in the order in which they arrive.

    Args:
        max_bytes: The maximum length of a block after decompression.
        max_headers: The maximum number of headers of a block.
    """

    __slots__ = ("_max_bytes", "_max_headers", "_zlib")

    def __init__(self, *, max_bytes: int, max_headers: int) -> None:
        self._max_bytes = max_bytes
        self._max_headers = max_headers
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)

    def decompress(self, block: bytes | memoryview) -> dict[str, str]:
        """The headers of a block, with names in lower case. NUL separates several values of one name.

        Raises:
            SpdyError: If the block is malformed or too large.
        """
        try:
            # One byte more than allowed distinguishes a block that is too large from a block that just fits.
            plain = self._zlib.decompress(block, self._max_bytes + 1)
        except zlib.error as error:
            raise SpdyError(f"a SPDY header block cannot be decompressed: {error}") from error
        if len(plain) > self._max_bytes or self._zlib.unconsumed_tail:
            raise SpdyError(f"a SPDY header block has more than {self._max_bytes} bytes")
        if self._zlib.eof:
            raise SpdyError("the stream of SPDY header blocks ends, though the session does not")
        return self._parse(plain)

    def _parse(self, plain: bytes) -> dict[str, str]:
        count, at = _read_length(plain, 0)
        if count > self._max_headers:
            raise SpdyError(f"a SPDY header block has {count} headers; at most {self._max_headers} are allowed")
        headers: dict[str, str] = {}
        for _ in range(count):
            name, at = _read_text(plain, at)
            value, at = _read_text(plain, at)
            if name != name.lower() or name in headers:
                raise SpdyError(f"a SPDY header block has an invalid or repeated header name: {name[:100]!r}")
            headers[name] = value
        if at != len(plain):
            raise SpdyError("a SPDY header block is longer than its headers")
        return headers


def _read_length(plain: bytes, at: int) -> tuple[int, int]:
    end = at + _LENGTH.size
    if end > len(plain):
        raise SpdyError("a SPDY header block is cut short")
    return _LENGTH.unpack_from(plain, at)[0], end


def _read_text(plain: bytes, at: int) -> tuple[str, int]:
    length, start = _read_length(plain, at)
    end = start + length
    if end > len(plain):
        raise SpdyError("a SPDY header block is cut short")
    return plain[start:end].decode("utf-8", "surrogateescape"), end
