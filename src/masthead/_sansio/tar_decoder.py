"""Reads a tar archive from bytes as they arrive, whoever sends them: bounded, and without trust.

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
    padded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MEMBER_END", "TarDecoder", "TarEvent"]

MAX_EXTENSION: Final = 2**20
"""The maximum size of what an archive says about a member beyond its header, in bytes."""
MAX_EXTENSIONS: Final = 8
"""How many of these a member may have."""
MAX_NAME: Final = 4096
"""The maximum length of a name: that of Linux."""
MAX_PADDING: Final = 2**22
"""How many zeros may follow an archive: its last record is padded, to as much as 1 MB with a tar of that blocking
factor."""
_MAX_SIZE: Final = 2**63
_MAX_TIME: Final = 2**40
_ZEROS: Final = bytes(BLOCK)
_FILES: Final = (b"0", b"\0", b"7")
_TYPES: Final = {each.value: each for each in MemberType} | dict.fromkeys(_FILES, MemberType.FILE)
_WITHOUT_CONTENT: Final = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
"""Types that have no content, whatever their size says."""
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

    It holds a header and what extends it, never a content. Sizes are believed only as far as bytes arrive.
    """

    def __init__(self) -> None:
        self._collected = bytearray()
        self._wanted = BLOCK
        self._content = 0
        self._padding = 0
        self._extension: Header | None = None
        self._extensions = 0
        self._said: dict[bytes, bytes] = {}
        self._zeros = 0

    def feed(self, data: bytes) -> Iterator[TarEvent]:
        """The events of the bytes that have arrived. Pieces of content are valid as long as `data` is.

        Raises:
            TarError: If this is no archive, or one that asks for too much.
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
        """Check that the archive has ended.

        Raises:
            TarError: If it has not.
        """
        if not self._zeros or self._collected.strip(b"\0"):
            raise TarError("the archive ends too early")

    def _complete(self) -> Iterator[TarEvent]:
        """A header, or an extension of one, has arrived."""
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
        if self._said:
            raise TarError("the archive ends in the middle of a header")
        self._zeros += BLOCK
        if self._zeros > MAX_PADDING:
            raise TarError(f"more than {MAX_PADDING:,} zeros follow the archive")

    def _begin_extension(self, header: Header) -> None:
        self._extensions += 1
        if header.size > MAX_EXTENSION or self._extensions > MAX_EXTENSIONS:
            raise TarError(f"a header of {header.size:,} bytes, number {self._extensions}, is too much")
        if header.size:
            self._extension, self._wanted = header, padded(header.size)

    def _extend(self, header: Header, data: bytes) -> None:
        if header.flag == _LONG_NAME:
            self._said[b"path"] = data.partition(b"\0")[0]
        elif header.flag == _LONG_LINK:
            self._said[b"linkpath"] = data.partition(b"\0")[0]
        elif header.flag in _PAX:
            self._said |= _pax_records(data)
        # Of what is said about all members, nothing is of interest: times, comments and owners.

    def _begin(self, header: Header) -> Iterator[TarEvent]:
        said, self._said, self._extensions = self._said, {}, 0
        member = _member(header, said)
        self._content = member.size
        self._padding = padded(member.size) - member.size
        yield member
        if not member.size:
            yield MEMBER_END


def _member(header: Header, said: dict[bytes, bytes]) -> TarMember:
    name = said.get(b"path", header.name)
    link = said.get(b"linkpath", header.link)
    if len(name) > MAX_NAME or len(link) > MAX_NAME:
        raise TarError(f"the name {name[:100]!r}... or its link has more than {MAX_NAME:,} bytes")
    if b"\0" in name or b"\0" in link:
        raise TarError(f"the name {name!r} or its link has a zero byte")
    if header.flag == _SPARSE:
        raise TarError(f"{name!r} is stored as a sparse file, which is not supported")
    size = _parsed_int(said.get(b"size"), header.size)
    if size > _MAX_SIZE:
        raise TarError(f"{name!r} has the size {size}")
    mtime = _parsed_time(said.get(b"mtime"), header.mtime)
    kind = _TYPES.get(header.flag, MemberType.OTHER)
    if kind is MemberType.FILE and name.endswith(b"/"):
        kind, size = MemberType.DIRECTORY, 0  # as the oldest format has them
    if header.flag in _WITHOUT_CONTENT:
        size = 0
    stripped = name.rstrip(b"/") or name[:1]
    return TarMember(stripped, kind, size, header.mode, max(-_MAX_TIME, min(mtime, _MAX_TIME)), link)


def _pax_records(data: bytes) -> dict[bytes, bytes]:
    """The records of interest: each is its own length, a key and a value."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        digits, _, _ = data[at : at + 20].partition(b" ")
        length = _parsed_int(digits, 0)
        record = data[at + len(digits) + 1 : at + length]
        if length <= len(digits) + 1 or at + length > len(data) or not record.endswith(b"\n"):
            raise TarError("a pax header is malformed")
        key, _, value = record[:-1].partition(b"=")
        if key.startswith(b"GNU.sparse."):
            raise TarError("a file is stored as a sparse file, which is not supported")
        if key in _KEYS:
            found[key] = value
        at += length
    return found


def _parsed_int(text: bytes | None, default: int) -> int:
    if text is None:
        return default
    if not text.isdigit() or len(text) > 20:
        raise TarError(f"a pax header has {text[:20]!r} for a number")
    return int(text)


def _parsed_time(text: bytes | None, default: int) -> float:
    if text is None:
        return default
    try:
        # Not int, inf or nan in words.
        return float(text) if len(text) < 40 and not text.strip(b"-0123456789.") else default
    except ValueError:
        return default
