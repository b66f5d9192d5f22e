"""Zstandard: of Python 3.14 and later, else of the package ``zstandard``."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from masthead.errors import ConfigError, RecordingError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Codec", "load_codec"]

_LEVEL: Final = 3


class Codec:
    """Compresses and decompresses whole frames.

    Args:
        compress: Compresses a content.
        decompress: Decompresses a frame; must not return more than the given number of bytes.
        errors: What `decompress` raises.
    """

    def __init__(
        self,
        compress: Callable[[bytes], bytes],
        decompress: Callable[[bytes, int], bytes],
        errors: tuple[type[Exception], ...],
    ) -> None:
        self._compress = compress
        self._decompress = decompress
        self._errors = errors

    def compress(self, content: bytes) -> bytes:
        """Return the frame of a content."""
        return self._compress(content)

    def decompress(self, frame: bytes, size: int) -> bytes:
        """Return the content of a frame, which must have this size.

        Raises:
            RecordingError: If it is damaged, or has another size.
        """
        try:
            # One byte more: a small frame may claim to be small, and hold gigabytes.
            content = self._decompress(frame, size + 1)
        except self._errors as error:
            raise RecordingError(f"a frame cannot be decompressed: {error}") from None
        if len(content) != size:
            raise RecordingError(f"a frame has not the {size} bytes of its header")
        return content


def load_codec() -> Codec:
    """Return the compressor of this Python.

    Raises:
        ConfigError: If it is not installed.
    """
    return _of_python() if sys.version_info >= (3, 14) else _of_package()


def _of_python() -> Codec:
    # Not an import statement: type checkers of older Pythons do not know the module.
    zstd: Any = import_module("compression.zstd")
    errors: tuple[type[Exception], ...] = (zstd.ZstdError, EOFError)

    def decompress(frame: bytes, limit: int) -> bytes:
        content: bytes = zstd.ZstdDecompressor().decompress(frame, max_length=limit)
        return content

    def compress(content: bytes) -> bytes:
        frame: bytes = zstd.compress(content, level=_LEVEL)
        return frame

    return Codec(compress, decompress, errors)


def _of_package() -> Codec:
    try:
        import zstandard
    except ImportError:
        raise ConfigError("recordings need zstandard: pip install 'masthead-k8s[record]'") from None
    compressor = zstandard.ZstdCompressor(level=_LEVEL)

    def decompress(frame: bytes, limit: int) -> bytes:
        # Not `decompress`, which allocates what the frame itself claims. A new one for each frame, as for threads.
        with zstandard.ZstdDecompressor().stream_reader(frame) as reader:
            return reader.read(limit)

    return Codec(compressor.compress, decompress, (zstandard.ZstdError,))
