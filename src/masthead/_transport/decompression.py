"""Compressed bodies, unpacked in steps.

A thousand bytes of gzip may stand for a megabyte: neither memory nor the event loop is a server's to fill.
"""

from __future__ import annotations

import asyncio
import io
import zlib
from typing import Final

__all__ = ["PACKINGS", "Gunzip", "TooLargeError", "decompress_all"]

_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_READ: Final = 2**14
"""How many packed bytes a step takes. What follows the end of a gzip file is copied, once for each file: a body may be
strung together of thousands of empty ones."""
_WRITTEN: Final = 2**18
"""How many bytes a step may unpack to; that takes about a millisecond."""
_ON_THE_LOOP: Final = 8
"""How many steps are taken before a thread takes the others. Zlib lets go of the interpreter meanwhile."""


class TooLargeError(Exception):
    """A body unpacks to more than it may; it becomes an error of ours on the way out."""


class Gunzip:
    """Unpacks a gzip stream step by step, holding back nothing that can be unpacked already."""

    __slots__ = ("_at", "_begun", "_inflate", "_input", "_is_full", "_tail")

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        self._begun = False
        self._input = memoryview(b"")
        self._at = 0
        self._tail = b""
        self._is_full = False

    def put(self, piece: bytes) -> None:
        """Take what came next."""
        self._begun = self._begun or bool(piece)
        rest = self._input[self._at :]
        self._input = memoryview(bytes(rest) + piece if rest else piece)
        self._at = 0

    @property
    def is_waiting(self) -> bool:
        """Whether another step can be taken."""
        # Zlib may have read all, and still have something to write.
        return bool(self._tail) or self._at < len(self._input) or (self._is_full and not self._inflate.eof)

    def step(self) -> bytes:
        """Unpack on; gives at most a quarter of a megabyte, and perhaps nothing yet.

        Raises:
            zlib.error: If it is not gzip.
        """
        piece: bytes | memoryview = self._tail
        if not piece:
            piece = self._input[self._at : self._at + _READ]
            self._at += len(piece)
        if self._inflate.eof and piece:  # gzip files may be strung together
            self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        plain = self._inflate.decompress(piece, _WRITTEN)
        self._tail = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        self._is_full = len(plain) == _WRITTEN
        return plain

    def finish(self) -> None:
        """The stream has ended.

        Raises:
            zlib.error: If something is missing. No stream at all misses nothing: so a ``HEAD`` is answered.
        """
        if self._begun and not self._inflate.eof:
            raise zlib.error("the end is missing")


PACKINGS: Final[dict[str, type[Gunzip] | None]] = {
    "": None,
    "identity": None,
    "gzip": Gunzip,
    "x-gzip": Gunzip,
}
"""What unpacks a ``Content-Encoding``."""


class _Whole:
    """A body on its way to being unpacked, by whichever thread has it."""

    def __init__(self, unpack: Gunzip, limit: float) -> None:
        self.unpacked = io.BytesIO()
        self.is_given_up = False
        self._unpack = unpack
        self._limit = limit

    def go_on(self, steps: int | None = None) -> bool:
        """Take so many steps, or all; whether that was all."""
        unpack, unpacked = self._unpack, self.unpacked
        while unpack.is_waiting and not self.is_given_up:
            if steps == 0:
                return False
            steps = None if steps is None else steps - 1
            unpacked.write(unpack.step())
            if unpacked.tell() > self._limit:
                raise TooLargeError
        unpack.finish()
        return True


async def decompress_all(unpack: Gunzip, limit: float) -> bytes:
    """All that was put into it, unpacked; what is large, in a thread, which stops when the caller is cancelled.

    Raises:
        TooLargeError: If that is more bytes than the limit.
        zlib.error: If it is not gzip.
    """
    whole = _Whole(unpack, limit)
    try:
        if not whole.go_on(_ON_THE_LOOP):
            await asyncio.to_thread(whole.go_on)
    finally:
        whole.is_given_up = True
    return whole.unpacked.getvalue()
