"""Archives of other programs, and malicious ones."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.tar_decoder import (
    MAX_EXTENSION,
    MAX_EXTENSIONS,
    MAX_NAME,
    MAX_PADDING,
    MEMBER_END,
    TarDecoder,
)
from masthead._sansio.tar_headers import BLOCK, MemberType, TarError, TarMember, encode_header, pad

END = bytes(2 * BLOCK)
NAMES = st.binary(min_size=1, max_size=300).filter(
    lambda name: b"\0" not in name and not name.endswith(b"/") and not name.startswith(b"/")
)
MEMBERS = st.builds(
    TarMember,
    name=NAMES,
    type=st.sampled_from([MemberType.FILE, MemberType.DIRECTORY, MemberType.SYMLINK]),
    mode=st.integers(0, 0o7777),
    mtime=st.integers(-(2**33), 2**36).map(float),
)


def decoded(data: bytes, *, sizes: tuple[int, ...] = ()) -> list[tuple[TarMember, bytes]]:
    """The members of a whole archive and their contents, fed in pieces of these sizes, then in one piece."""
    decoder, found, content = TarDecoder(), list[tuple[TarMember, bytes]](), bytearray()
    member: TarMember | None = None
    at = 0
    for size in (*sizes, len(data)):
        for event in decoder.feed(data[at : at + size]):
            if isinstance(event, TarMember):
                assert member is None
                member = event
            elif event is MEMBER_END:
                assert member is not None
                found.append((member, bytes(content)))
                member = None
                content.clear()
            else:
                content += event
        at += size
    decoder.finish()
    return found


def archive(members: list[tuple[TarMember, bytes]]) -> bytes:
    return b"".join(encode_header(member) + data.ljust(pad(len(data)), b"\0") for member, data in members) + END


def with_content(member: TarMember, data: bytes) -> tuple[TarMember, bytes]:
    size = len(data) if member.type is MemberType.FILE else 0
    link = b"some/where" * 15 if member.type is MemberType.SYMLINK else b""
    return TarMember(member.name, member.type, size, member.mode, member.mtime, link), data[:size]


CONTENTS = st.lists(st.builds(with_content, MEMBERS, st.binary(max_size=1500)), max_size=4)


@given(CONTENTS, st.lists(st.integers(1, 700), max_size=30).map(tuple))
def test_any_split_of_an_archive_gives_the_same_members(
    members: list[tuple[TarMember, bytes]], sizes: tuple[int, ...]
) -> None:
    assert decoded(archive(members), sizes=sizes) == members


@given(CONTENTS)
def test_tarfile_reads_our_archives(members: list[tuple[TarMember, bytes]]) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive(members)), encoding="latin-1") as opened:
        read = opened.getmembers()
        assert [member.name.encode("latin-1") for member in read] == [member.name for member, _ in members]
        assert [(member.mode, member.mtime) for member in read] == [
            (member.mode, member.mtime) for member, _ in members
        ]
        for entry, (member, data) in zip(read, members, strict=True):
            content = opened.extractfile(entry) if entry.isreg() else None
            assert (content.read() if content else b"") == data
            assert entry.linkname.encode("latin-1") == member.link


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@given(st.data())
def test_archives_of_tarfile_are_read(form: int, data: st.DataObject) -> None:
    characters = st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="/")
    short = 90 if form == tarfile.USTAR_FORMAT else 300
    name = data.draw(st.text(characters, min_size=1, max_size=short).filter(lambda each: each not in {".", ".."}))
    content = data.draw(st.binary(max_size=2000))
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = len(content), data.draw(st.integers(0, 2**33 - 1)), 0o640
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as written:
        written.addfile(info, io.BytesIO(content))

    expected = TarMember(name.encode(), MemberType.FILE, len(content), 0o640, info.mtime)
    assert decoded(buffer.getvalue()) == [(expected, content)]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_member_type_is_recognized(form: int) -> None:
    flags = {
        tarfile.REGTYPE: MemberType.FILE,
        tarfile.AREGTYPE: MemberType.FILE,
        tarfile.CONTTYPE: MemberType.FILE,
        tarfile.DIRTYPE: MemberType.DIRECTORY,
        tarfile.SYMTYPE: MemberType.SYMLINK,
        tarfile.LNKTYPE: MemberType.HARD_LINK,
        tarfile.CHRTYPE: MemberType.CHARACTER_DEVICE,
        tarfile.BLKTYPE: MemberType.BLOCK_DEVICE,
        tarfile.FIFOTYPE: MemberType.FIFO,
        b"Z": MemberType.OTHER,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as written:
        for flag in flags:
            info = tarfile.TarInfo("x")
            info.type = flag
            written.addfile(info)

    assert [member.type for member, _ in decoded(buffer.getvalue())] == list(flags.values())


def test_fractions_of_seconds_are_read() -> None:
    info = tarfile.TarInfo("x")
    info.mtime = 1_000_000_000.25
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as written:
        written.addfile(info)

    assert decoded(buffer.getvalue())[0][0].mtime == 1_000_000_000.25


def test_sizes_beyond_eight_gigabytes_are_read_and_written() -> None:
    member = TarMember(b"x", size=2**40)

    events = list(TarDecoder().feed(encode_header(member)))

    assert events == [member]


def test_a_directory_without_content_may_claim_a_size() -> None:
    block = encode_header(TarMember(b"d", MemberType.DIRECTORY, size=10**9))

    assert decoded(block + END)[0][0] == TarMember(b"d", MemberType.DIRECTORY, mode=0o644)


@given(CONTENTS.filter(bool), st.data())
def test_a_truncated_archive_is_an_error(members: list[tuple[TarMember, bytes]], data: st.DataObject) -> None:
    whole = archive(members)
    cut = data.draw(st.integers(0, len(whole) - len(END)))

    with pytest.raises(TarError):
        decoded(whole[:cut])


@given(st.binary(min_size=BLOCK, max_size=2 * BLOCK).filter(lambda data: any(data[:BLOCK])))
def test_garbage_is_an_error(garbage: bytes) -> None:
    with pytest.raises(TarError):
        decoded(garbage)


@given(st.binary(max_size=1024), st.integers(0, 511), st.integers(0, 255))
def test_a_damaged_header_is_never_more_than_an_error(content: bytes, at: int, value: int) -> None:
    damaged = bytearray(archive([(TarMember(b"x", size=len(content)), content)]))
    damaged[at] = value

    try:
        found = decoded(bytes(damaged))
    except TarError:
        return
    assert [data for _, data in found] == [content]


def extension(flag: bytes, data: bytes, *, claimed: int | None = None) -> bytes:
    """An extension header of the next member."""
    block = bytearray(encode_header(TarMember(b"x", size=len(data) if claimed is None else claimed)))
    block[156:157] = flag
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + data.ljust(pad(len(data)), b"\0")


def record(key: bytes, value: bytes) -> bytes:
    size = len(key) + len(value) + 3
    while len(b"%d" % size) + len(key) + len(value) + 3 != size:
        size = len(b"%d" % size) + len(key) + len(value) + 3
    return b"%d %s=%s\n" % (size, key, value)


@pytest.mark.parametrize(
    "lie",
    [
        extension(b"L", b"", claimed=MAX_EXTENSION + 1),
        extension(b"x", b"", claimed=2**60),
        extension(b"g", b"", claimed=-1),
        extension(b"x", record(b"path", b"p")) * (MAX_EXTENSIONS + 1),
        extension(b"g", b"") * (MAX_EXTENSIONS + 1),
        extension(b"x", b"99999 path=x\n") + encode_header(TarMember(b"x")),
        extension(b"x", b"0 path=x\n") + encode_header(TarMember(b"x")),
        extension(b"x", b"path=x\n") + encode_header(TarMember(b"x")),
        extension(b"x", record(b"size", b"-1")) + encode_header(TarMember(b"x")),
        extension(b"x", record(b"size", b"9" * 19)) + encode_header(TarMember(b"x")),
        extension(b"x", record(b"GNU.sparse.major", b"1")) + encode_header(TarMember(b"x")),
        extension(b"x", record(b"path", b"a\0b")) + encode_header(TarMember(b"x")),
        extension(b"x", record(b"linkpath", b"a\0b")) + encode_header(TarMember(b"x")),
        extension(b"S", b""),
        extension(b"L", b"n" * (MAX_NAME + 1)) + encode_header(TarMember(b"x")),
        extension(b"K", b"n" * (MAX_NAME + 1)) + encode_header(TarMember(b"x", MemberType.SYMLINK)),
        extension(b"L", b"name") + END,
        END + encode_header(TarMember(b"x")),
        bytes(MAX_PADDING + BLOCK),
    ],
)
def test_exceeding_a_limit_is_an_error(lie: bytes) -> None:
    with pytest.raises(TarError):
        decoded(lie + END)


def test_a_decoder_holds_no_content() -> None:
    decoder = TarDecoder()
    piece = bytes(2**16)
    list(decoder.feed(encode_header(TarMember(b"x", size=2**40))))

    for _ in range(10):
        assert [bytes(event) for event in decoder.feed(piece)] == [piece]  # type: ignore[arg-type]

    assert not decoder._collected


@pytest.mark.parametrize("mtime", [b"nan", b"inf", b"1e999", b"", b"--", b"1" * 60])
def test_an_invalid_time_is_ignored(mtime: bytes) -> None:
    data = extension(b"x", record(b"mtime", mtime)) + encode_header(TarMember(b"x", mtime=7.0)) + END

    assert decoded(data)[0][0].mtime == 7
