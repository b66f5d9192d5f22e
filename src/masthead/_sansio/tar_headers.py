"""The headers of tar archives.

Headers are written in GNU's format, which every tar reads: those of GNU, BSD, busybox and toybox. The formats of GNU,
ustar, pax and V7 can be read. Names are bytes, as in file systems.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

__all__ = [
    "BLOCK",
    "Header",
    "MemberType",
    "TarError",
    "TarMember",
    "decode_header",
    "encode_header",
    "pad",
]

BLOCK: Final = 512
"""The block size of an archive."""
_NAME_SIZE: Final = 100
_GNU_MAGIC: Final = b"ustar  \0"
_POSIX_MAGIC: Final = b"ustar\0"
_LONG_NAME: Final = b"././@LongLink"
_CHECKSUM: Final = slice(148, 156)


class TarError(ValueError):
    """The data is not a tar archive, or incomplete."""


class MemberType(enum.Enum):
    """The type of a member; the values are those of GNU's headers."""

    FILE = b"0"
    HARD_LINK = b"1"
    SYMLINK = b"2"
    CHARACTER_DEVICE = b"3"
    BLOCK_DEVICE = b"4"
    DIRECTORY = b"5"
    FIFO = b"6"
    OTHER = b"?"


@dataclass(frozen=True, slots=True)
class TarMember:
    """A member of an archive.

    Attributes:
        name: The name, without the trailing slash of directories.
        type: The type.
        size: The size of the content in bytes.
        mode: The permissions.
        mtime: The time of modification, in seconds since 1970.
        link: The target of a link.
    """

    name: bytes
    type: MemberType = MemberType.FILE
    size: int = 0
    mode: int = 0o644
    mtime: float = 0.0
    link: bytes = b""


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a header block; extension blocks before it may override them.

    Attributes:
        flag: The type, as one byte.
        name: The name; a directory's may end with a slash.
        size: The size.
        mode: The permissions.
        mtime: The time of modification.
        link: The target of a link.
    """

    flag: bytes
    name: bytes
    size: int
    mode: int
    mtime: int
    link: bytes


def pad(size: int) -> int:
    """Round a size up to whole blocks."""
    return -(-size // BLOCK) * BLOCK


def encode_header(member: TarMember) -> bytes:
    """Encode the blocks before a member's content."""
    # The owner is root, for an extraction as root without an explicit owner.
    name = member.name + b"/" if member.type is MemberType.DIRECTORY else member.name
    # GNU's tar expects the long names in separate blocks before the header.
    long_link = _long(b"K", member.link) if len(member.link) >= _NAME_SIZE else b""
    long_name = _long(b"L", name) if len(name) >= _NAME_SIZE else b""
    header = _block(name, member.type.value, member.size, member.mode, int(member.mtime), member.link)
    return long_link + long_name + header


def _long(flag: bytes, name: bytes) -> bytes:
    """Encode a name that is too long for its field."""
    size = len(name) + 1
    return _block(_LONG_NAME, flag, size, 0o644, 0, b"") + name.ljust(pad(size), b"\0")


def _block(name: bytes, flag: bytes, size: int, mode: int, mtime: int, link: bytes) -> bytes:
    head = b"".join(
        (
            name[:_NAME_SIZE].ljust(_NAME_SIZE, b"\0"),
            _number(mode & 0o7777, 8),
            _number(0, 8),
            _number(0, 8),
            _number(size, 12),
            _number(mtime, 12),
            b" " * 8,
            flag,
            link[:_NAME_SIZE].ljust(_NAME_SIZE, b"\0"),
            _GNU_MAGIC,
        )
    )
    block = bytearray(head.ljust(BLOCK, b"\0"))
    block[_CHECKSUM] = b"%06o\0 " % sum(block)
    return bytes(block)


def _number(value: int, width: int) -> bytes:
    """Encode a number as octal digits; a large or negative one in GNU's binary form."""
    if 0 <= value < 8 ** (width - 1):
        return b"%0*o\0" % (width - 1, value)
    sign = b"\xff" if value < 0 else b"\x80"
    return sign + value.to_bytes(width, signed=True)[1:]


def decode_header(block: bytes) -> Header:
    """Decode a header block.

    Raises:
        TarError: If it is invalid.
    """
    # The checksum is computed with blanks in its own field.
    if sum(block) - sum(block[_CHECKSUM]) + 8 * ord(" ") != _decode_number(block[_CHECKSUM]):
        raise TarError("what is there is not a tar archive, or it is damaged: a header has a wrong checksum")
    name = _text(block[:_NAME_SIZE])
    # GNU's format uses these bytes for other fields.
    prefix = _text(block[345:500]) if block[257:263] == _POSIX_MAGIC else b""
    size = _decode_number(block[124:136])
    if size < 0:
        raise TarError(f"a member has the size {size}")
    return Header(
        flag=block[156:157],
        name=prefix + b"/" + name if prefix else name,
        size=size,
        mode=_decode_number(block[100:108]) & 0o7777,
        mtime=_decode_number(block[136:148]),
        link=_text(block[157:257]),
    )


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _decode_number(field: bytes) -> int:
    # GNU's binary form.
    if field[0] in (0x80, 0xFF):
        value = int.from_bytes(field[1:])
        return value - 256 ** (len(field) - 1) if field[0] == 0xFF else value
    digits = field.partition(b"\0")[0].strip()
    if not all(digit in b"01234567" for digit in digits):
        raise TarError(f"a header has {digits[:12]!r} for a number")
    return int(digits or b"0", 8)
