"""Decodes an untrusted tar archive as it arrives, with bounded memory.

::

    feed ──> header ──> [extension: a long name, pax records ──> header] ──> TarMember
               ^                                                              │ content, piece by piece
               └───────────── padding <── MEMBER_END <────────────────────────┘
             zero blocks ──> the end: nothing but zeros may follow
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._sansio.tar_headers import (
    BLOCK,
    Header,
    MemberType,
    TarError,
    TarMember,
    decode_header,
    pad,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MEMBER_END", "TarDecoder", "TarEvent"]

MAX_EXTENSION: Final = 2**20
"""The maximum size of an extension header, in bytes."""
MAX_EXTENSIONS: Final = 8
"""The maximum number of extension headers of a member."""
MAX_NAME: Final = 4096
"""The maximum length of a name, as in Linux."""
MAX_PADDING: Final = 2**22
"""The maximum number of zeros after an archive: tar pads its last record, to as much as 1 MB with a large blocking
factor."""
_MAX_SIZE: Final = 2**63
_MAX_TIME: Final = 2**40
_ZEROS: Final = bytes(BLOCK)
_FILES: Final = (b"0", b"\0", b"7")
_TYPES: Final = {member.value: member for member in MemberType} | dict.fromkeys(_FILES, MemberType.FILE)
_WITHOUT_CONTENT: Final = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
"""Types without content, whatever their size field."""
_GLOBAL: Final = b"g"
_PAX: Final = (b"x", b"X")
_LONG_NAME: Final = b"L"
_LONG_LINK: Final = b"K"
_SPARSE: Final = b"S"
_KEYS: Final = (b"path", b"linkpath", b"size", b"mtime")


class _MemberEnd(enum.Enum):
    MEMBER_END = enum.auto()


MEMBER_END: Final = _MemberEnd.MEMBER_END
"""Follows the content of a member."""
TarEvent: TypeAlias = "TarMember | memoryview | Literal[_MemberEnd.MEMBER_END]"
"""A member, a piece of its content, or its end."""


class TarDecoder:
    """Turns the bytes of an archive into members and their contents.

    It buffers a header and its extensions, never content. No memory is reserved by the sizes in headers.
    """

    def __init__(self) -> None:
        self._collected = bytearray()
        self._wanted = BLOCK
        self._content = 0
        self._padding = 0
        self._extension: Header | None = None
        self._extensions = 0
        self._overrides: dict[bytes, bytes] = {}
        self._zeros = 0

    def feed(self, data: bytes) -> Iterator[TarEvent]:
        """Decode bytes into events. Pieces of content are valid as long as `data`.

        Raises:
            TarError: If the data is not an archive, or exceeds a limit.
        """
        view = memoryview(data)
        while view:
            if self._content:
                piece, view = view[: self._content], view[self._content :]
                self._content -= len(piece)
                yield piece
                if not self._content:
                    yield MEMBER_END
            elif self._padding:
                skipped = min(self._padding, len(view))
                self._padding -= skipped
                view = view[skipped:]
            else:
                missing = self._wanted - len(self._collected)
                self._collected += view[:missing]
                view = view[missing:]
                if len(self._collected) == self._wanted:
                    yield from self._complete()

    def finish(self) -> None:
        """Check that the archive is complete.

        Raises:
            TarError: If it is not.
        """
        # An archive without zero blocks at its end was cut off.
        if not self._zeros or self._collected.strip(b"\0"):
            raise TarError("the archive ends too early")

    def _complete(self) -> Iterator[TarEvent]:
        """Process a complete header or extension."""
        block, self._collected, self._wanted = bytes(self._collected), bytearray(), BLOCK
        if self._extension is not None:
            extension, self._extension = self._extension, None
            self._extend(extension, block[: extension.size])
        elif block == _ZEROS:
            self._end()
        elif self._zeros:
            raise TarError("something follows the end of the archive")
        else:
            header = decode_header(block)
            if header.flag in (*_PAX, _GLOBAL, _LONG_NAME, _LONG_LINK):
                self._begin_extension(header)
            else:
                yield from self._begin(header)

    def _end(self) -> None:
        if self._overrides:
            raise TarError("the archive ends in the middle of a header")
        self._zeros += BLOCK
        if self._zeros > MAX_PADDING:
            raise TarError(f"more than {MAX_PADDING:,} zeros follow the archive")

    def _begin_extension(self, header: Header) -> None:
        self._extensions += 1
        if header.size > MAX_EXTENSION or self._extensions > MAX_EXTENSIONS:
            raise TarError(f"a header of {header.size:,} bytes, number {self._extensions}, is too much")
        if header.size:
            self._extension, self._wanted = header, pad(header.size)

    def _extend(self, header: Header, data: bytes) -> None:
        if header.flag == _LONG_NAME:
            self._overrides[b"path"] = data.partition(b"\0")[0]
        elif header.flag == _LONG_LINK:
            self._overrides[b"linkpath"] = data.partition(b"\0")[0]
        elif header.flag in _PAX:
            self._overrides |= _pax_records(data)
        # Global extensions only have times, comments and owners, which are not used.

    def _begin(self, header: Header) -> Iterator[TarEvent]:
        overrides, self._overrides, self._extensions = self._overrides, {}, 0
        member = _member(header, overrides)
        self._content = member.size
        self._padding = pad(member.size) - member.size
        yield member
        if not member.size:
            yield MEMBER_END


def _member(header: Header, overrides: dict[bytes, bytes]) -> TarMember:
    name = overrides.get(b"path", header.name)
    link = overrides.get(b"linkpath", header.link)
    if len(name) > MAX_NAME or len(link) > MAX_NAME:
        raise TarError(f"the name {name[:100]!r}... or its link has more than {MAX_NAME:,} bytes")
    if b"\0" in name or b"\0" in link:
        raise TarError(f"the name {name!r} or its link has a zero byte")
    # Its content has holes, and its size is not that of the stored bytes.
    if header.flag == _SPARSE:
        raise TarError(f"{name!r} is stored as a sparse file, which is not supported")
    size = _parse_int(overrides.get(b"size"), header.size)
    if size > _MAX_SIZE:
        raise TarError(f"{name!r} has the size {size}")
    mtime = _parse_time(overrides.get(b"mtime"), header.mtime)
    kind = _TYPES.get(header.flag, MemberType.OTHER)
    if kind is MemberType.FILE and name.endswith(b"/"):
        # The V7 format has no type for directories.
        kind, size = MemberType.DIRECTORY, 0
    if header.flag in _WITHOUT_CONTENT:
        size = 0
    stripped = name.rstrip(b"/") or name[:1]
    return TarMember(stripped, kind, size, header.mode, max(-_MAX_TIME, min(mtime, _MAX_TIME)), link)


def _pax_records(data: bytes) -> dict[bytes, bytes]:
    """The used records; each has its own length, a key and a value."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        digits, _, _ = data[at : at + 20].partition(b" ")
        length = _parse_int(digits, 0)
        record = data[at + len(digits) + 1 : at + length]
        # The length includes its own digits.
        if length <= len(digits) + 1 or at + length > len(data) or not record.endswith(b"\n"):
            raise TarError("a pax header is malformed")
        key, _, value = record[:-1].partition(b"=")
        if key.startswith(b"GNU.sparse."):
            raise TarError("a file is stored as a sparse file, which is not supported")
        if key in _KEYS:
            found[key] = value
        at += length
    return found


def _parse_int(text: bytes | None, default: int) -> int:
    if text is None:
        return default
    if not text.isdigit() or len(text) > 20:
        raise TarError(f"a pax header has {text[:20]!r} for a number")
    return int(text)


def _parse_time(text: bytes | None, default: int) -> float:
    if text is None:
        return default
    try:
        # Digits only: float() also accepts "inf" and "nan".
        return float(text) if len(text) < 40 and not text.strip(b"-0123456789.") else default
    except ValueError:
        return default
