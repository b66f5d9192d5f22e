"""The frames of a recording: zstd frames, each behind a header that tools of zstd skip.

::

    file   = (header frame)* [end]
    header = skippable frame of zstd with 40 bytes:
             "MHRF", format version, number of entries, bytes of the frame, bytes of its content,
             CRC-32 of the frame, time of its first and of its last entry
    frame  = zstd frame of lines of JSON

So ``zstd --decompress --stdout FILE`` prints all lines. A reader walks from header to header without decompressing
anything. A file that was cut off ends behind its last whole frame.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from masthead.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FORMAT_VERSION", "HEADER_SIZE", "MAX_FRAME", "FrameHeader", "encode_frame", "read_content", "read_headers"]

FORMAT_VERSION: Final = 1
MAX_FRAME: Final = 64 << 20
"""The maximum size of a frame's content. An object has at most 3 MiB at a server, and a frame ends behind it."""

_SKIPPABLE: Final = 0x184D2A5D
"""One of the 16 magic numbers whose frames every reader of zstd skips."""
_MAGIC: Final = b"MHRF"
_OUTER: Final = struct.Struct("<II")
_INNER: Final = struct.Struct("<4sHxxIIIIqq")
HEADER_SIZE: Final = _OUTER.size + _INNER.size


class FrameHeader(NamedTuple):
    """The header of a frame.

    Attributes:
        offset: Where the frame begins in the file.
        size: Its size.
        content_size: The size of its content.
        checksum: The CRC-32 of the frame.
        entries: The number of its lines.
        first: The time of its first entry, in microseconds since 1970.
        last: The time of its last entry.
    """

    offset: int
    size: int
    content_size: int
    checksum: int
    entries: int
    first: int
    last: int


def encode_frame(compressed: bytes, content_size: int, *, entries: int, first: int, last: int) -> bytes:
    """Return a frame with its header."""
    inner = _INNER.pack(
        _MAGIC, FORMAT_VERSION, entries, len(compressed), content_size, zlib.crc32(compressed), first, last
    )
    return _OUTER.pack(_SKIPPABLE, len(inner)) + inner + compressed


def read_headers(file: BinaryIO, size: int) -> Iterator[FrameHeader]:
    """Yield the headers of a file until its end, or the first damage.

    Args:
        file: The file, at the beginning of a header; its position is changed between two headers.
        size: The size of the file.

    Raises:
        RecordingError: At anything but a whole frame.
    """
    offset = file.tell()
    while offset < size:
        file.seek(offset)
        header = _parse(file.read(HEADER_SIZE), offset)
        if header.offset + header.size > size:
            raise RecordingError(f"it was cut off in the frame at byte {offset}")
        yield header
        offset = header.offset + header.size


def read_content(file: BinaryIO, header: FrameHeader) -> bytes:
    """Return the compressed frame of a header.

    Raises:
        RecordingError: If it is damaged.
    """
    file.seek(header.offset)
    compressed = file.read(header.size)
    if zlib.crc32(compressed) != header.checksum:
        raise RecordingError(f"the frame at byte {header.offset} is damaged: its checksum differs")
    return compressed


def _parse(data: bytes, offset: int) -> FrameHeader:
    if len(data) < HEADER_SIZE:
        raise RecordingError(f"it was cut off in the header at byte {offset}")
    kind, length = _OUTER.unpack_from(data)
    magic, version, entries, size, content_size, checksum, first, last = _INNER.unpack_from(data, _OUTER.size)
    # Before the sizes are used, because any file may be given here.
    if kind != _SKIPPABLE or length != _INNER.size or magic != _MAGIC:
        raise RecordingError(f"there is no frame at byte {offset}")
    if version != FORMAT_VERSION:
        raise RecordingError(f"it has format {version}, and this version of Masthead reads {FORMAT_VERSION}")
    if size > MAX_FRAME or content_size > MAX_FRAME:
        raise RecordingError(f"the frame at byte {offset} is larger than {MAX_FRAME} bytes")
    return FrameHeader(offset + HEADER_SIZE, size, content_size, checksum, entries, first, last)
