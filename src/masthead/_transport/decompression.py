"""Step-by-step decompression of bodies.

A thousand bytes of gzip may decompress to a megabyte: a server must not fill our memory or block the event
loop.
"""

from __future__ import annotations

import asyncio
import io
import zlib
from typing import Final

__all__ = ["DECODERS", "Gunzip", "TooLargeError", "decompress_all"]

_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_READ: Final = 2**14
"""How many compressed bytes a step takes. The bytes after the end of a gzip member are copied once per member, and a
body may be a concatenation of thousands of empty ones."""
_WRITTEN: Final = 2**18
"""How many bytes a step may produce; that takes about a millisecond."""
_ON_THE_LOOP: Final = 8
"""How many steps run on the event loop before a thread takes over. Zlib releases the GIL."""


class TooLargeError(Exception):
    """A body exceeds the limit; turned into a `ResponseTooLargeError` by the caller."""


class Gunzip:
    """Decompresses a gzip stream step by step, without holding back complete data."""

    __slots__ = ("_at", "_begun", "_inflate", "_input", "_is_full", "_tail")

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        self._begun = False
        self._input = memoryview(b"")
        self._at = 0
        self._tail = b""
        self._is_full = False

    def put(self, piece: bytes) -> None:
        """Add compressed bytes."""
        self._begun = self._begun or bool(piece)
        rest = self._input[self._at :]
        self._input = memoryview(bytes(rest) + piece if rest else piece)
        self._at = 0

    @property
    def is_waiting(self) -> bool:
        """Whether another step can be taken."""
        # Zlib may have consumed all input, and still have output.
        return bool(self._tail) or self._at < len(self._input) or (self._is_full and not self._inflate.eof)

    def step(self) -> bytes:
        """Decompress one step; returns at most a quarter of a megabyte, and perhaps nothing yet.

        Raises:
            zlib.error: If it is not gzip.
        """
        piece: bytes | memoryview = self._tail
        if not piece:
            piece = self._input[self._at : self._at + _READ]
            self._at += len(piece)
        if self._inflate.eof and piece:  # a gzip stream may have several members
            self._inflate = zlib.decompressobj(_GZIP_WINDOW)
        plain = self._inflate.decompress(piece, _WRITTEN)
        self._tail = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        self._is_full = len(plain) == _WRITTEN
        return plain

    def finish(self) -> None:
        """Check that the stream is complete.

        Raises:
            zlib.error: If the end is missing. An empty stream is complete, as in the response to a ``HEAD``.
        """
        if self._begun and not self._inflate.eof:
            raise zlib.error("the end is missing")


DECODERS: Final[dict[str, type[Gunzip] | None]] = {
    "": None,
    "identity": None,
    "gzip": Gunzip,
    "x-gzip": Gunzip,
}
"""The decoder of each ``Content-Encoding``; None for none."""


class _Whole:
    """A body while it is decompressed, by the loop's thread or another."""

    def __init__(self, unpack: Gunzip, limit: float) -> None:
        self.unpacked = io.BytesIO()
        self.is_given_up = False
        self._unpack = unpack
        self._limit = limit

    def go_on(self, steps: int | None = None) -> bool:
        """Take so many steps, or all; returns whether it is done."""
        unpack, unpacked = self._unpack, self.unpacked
        while unpack.is_waiting and not self.is_given_up:
            if steps == 0:
                return False
            steps = None if steps is None else steps - 1
            unpacked.write(unpack.step())
            # After each step: a small body may decompress to gigabytes.
            if unpacked.tell() > self._limit:
                raise TooLargeError
        unpack.finish()
        return True


async def decompress_all(unpack: Gunzip, limit: float) -> bytes:
    """Decompress everything that was put in; large bodies in a thread, which stops when the caller is cancelled.

    Raises:
        TooLargeError: If the result exceeds the limit.
        zlib.error: If it is not gzip.
    """
    whole = _Whole(unpack, limit)
    try:
        # For a few steps, a thread would cost more than the steps.
        if not whole.go_on(_ON_THE_LOOP):
            # In virtual time, the order in which threads end would differ from run to run.
            if getattr(asyncio.get_running_loop(), "has_virtual_time", False):
                whole.go_on()
            else:
                await asyncio.to_thread(whole.go_on)
    finally:
        # A thread cannot be cancelled: this ends its work if the caller was.
        whole.is_given_up = True
    return whole.unpacked.getvalue()
