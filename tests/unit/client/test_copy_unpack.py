"""Archives from containers that are not to be trusted: nothing is written outside of the copy."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.cp.paths import leads_out
from masthead._client.cp.progress import CopyCounter
from masthead._client.cp.unpack import ContentWriter, CopySink, FileUnpacker, TreeUnpacker
from masthead._sansio.tar_headers import MemberType, TarMember, encode_header, pad
from masthead.errors import CopyError

END = bytes(1024)


def member(name: str, content: bytes = b"", **fields: object) -> bytes:
    made = TarMember(os.fsencode(name), size=len(content), **fields)  # type: ignore[arg-type]
    return encode_header(made) + content.ljust(pad(len(content)), b"\0")


def directory(name: str, mode: int = 0o755, mtime: float = 0.0) -> bytes:
    return member(name, type=MemberType.DIRECTORY, mode=mode, mtime=mtime)


def symlink(name: str, target: str) -> bytes:
    return member(name, type=MemberType.SYMLINK, link=target.encode())


def hard_link(name: str, target: str) -> bytes:
    return member(name, type=MemberType.HARD_LINK, link=target.encode())


def unpack(root: Path, data: bytes, *, preserve: bool = True, skip_special: bool = False) -> CopyCounter:
    counter = CopyCounter()
    consume(TreeUnpacker(root, counter, preserve=preserve, skip_special=skip_special), data)
    return counter


def consume(sink: CopySink, data: bytes) -> None:
    try:
        sink.feed(data)
        sink.finish()
    finally:
        sink.close()


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything in a folder: mode, time and content."""
    found = [folder, *folder.rglob("*")]
    return {
        str(each): (
            each.lstat().st_mode,
            each.lstat().st_mtime_ns,
            each.read_bytes() if each.is_file() else b"",
        )
        for each in found
    }


def test_files_directories_and_links_are_written_with_their_permissions_and_times(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    data = (
        directory(".", 0o750, 1e9)
        + directory("./d", 0o500, 1e9 + 1)
        + member("./d/f", b"content", mode=0o4755, mtime=1e9 + 2)
        + symlink("./d/up", "../e")
        + directory("./e")
        + hard_link("./e/h", "./d/f")
    )

    counter = unpack(root, data + END)

    assert (root / "d/f").read_bytes() == (root / "e/h").read_bytes() == b"content"
    assert str((root / "d/up").readlink()) == "../e"
    assert stat.S_IMODE((root / "d/f").stat().st_mode) == 0o755  # not setuid
    assert [stat.S_IMODE(each.stat().st_mode) for each in (root, root / "d")] == [0o750, 0o500]
    assert [each.stat().st_mtime for each in (root, root / "d", root / "d/f")] == [1e9, 1e9 + 1, 1e9 + 2]
    assert (counter.files_done, counter.bytes_done) == (3, 7)


def test_permissions_of_directories_that_were_there_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o711)
    before = [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path, tmp_path / "d")]

    unpack(tmp_path, directory(".", 0o777) + directory("d", 0o777) + END)

    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path, tmp_path / "d")] == before


def test_without_preserve_new_files_are_like_any_others(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")

    unpack(tmp_path / "copy", member("f", b"x", mode=0o600, mtime=5.0) + END, preserve=False)

    copied = (tmp_path / "copy/f").stat()
    assert copied.st_mode == (tmp_path / "plain").stat().st_mode
    assert copied.st_mtime != 5


def test_names_of_any_bytes_are_written(tmp_path: Path) -> None:
    names = ["-x", " ", "a\nb", "'\"`$", "é", "\udcff\udcfe", "n" * 255]

    unpack(tmp_path, b"".join(member(each, os.fsencode(each)) for each in names) + END)

    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {name: os.fsencode(name) for name in names}


@pytest.mark.parametrize(
    "data",
    [
        member("/outside/new", b"evil"),
        member("../outside/new", b"evil"),
        member("d/../../outside/new", b"evil"),
        member("existing/new", b"evil"),
        member("existing/kept", b"evil"),
        directory("existing/d"),
        directory("existing"),
        symlink("existing/l", "x"),
        hard_link("h", "existing/kept"),
        hard_link("h", "../outside/kept"),
        hard_link("h", "/outside/kept"),
        hard_link("h", "."),
        symlink("d/l", "..") + member("d/l/outside", b"evil"),
        symlink("l", "d") + directory("d") + member("l/new", b"evil"),
        member(".", b"evil"),
        symlink(".", "outside"),
        member("f", b"evil") + member("f/new", b"evil"),
    ],
)
def test_what_leads_out_of_the_copy_is_refused(tmp_path: Path, data: bytes) -> None:
    outside, root = tmp_path / "outside", tmp_path / "copy"
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    root.mkdir()
    (root / "existing").symlink_to(outside)
    before = state(outside)

    with pytest.raises((CopyError, OSError)):
        unpack(root, data + END)

    assert state(outside) == before
    assert {each.name for each in tmp_path.iterdir()} == {"outside", "copy"}


def test_a_link_that_is_in_the_place_of_a_file_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "copy"
    outside.write_bytes(b"kept")
    root.mkdir()
    (root / "f").symlink_to(outside)

    unpack(root, member("f", b"new") + END)

    assert outside.read_bytes() == b"kept"
    assert not (root / "f").is_symlink()
    assert (root / "f").read_bytes() == b"new"


def test_a_target_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "copy").symlink_to("outside")

    with pytest.raises(OSError, match="directory"):
        unpack(tmp_path / "copy", member("f") + END)

    assert not list((tmp_path / "outside").iterdir())


def test_links_that_lead_out_and_devices_are_left_out_and_named_at_the_end(tmp_path: Path) -> None:
    data = (
        symlink("abs", "/etc/passwd")
        + symlink("up", "../x")
        + member("fifo", type=MemberType.FIFO)
        + member("null", type=MemberType.CHARACTER_DEVICE)
        + member("odd", b"with content", type=MemberType.OTHER)
        + member("last", b"x")
        + END
    )

    with pytest.raises(CopyError) as caught:
        unpack(tmp_path / "one", data)
    unpack(tmp_path / "two", data, skip_special=True)

    assert len(caught.value.skipped) == 5
    assert "'abs', which links to '/etc/passwd', outside of the copy" in str(caught.value)
    for copy in ("one", "two"):
        assert [each.name for each in (tmp_path / copy).iterdir()] == ["last"]


def test_hard_links_to_symbolic_links_become_such_links(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    data = directory("d") + symlink("d/one", "../f") + hard_link("d/two", "./d/one") + member("last") + END

    counter = unpack(root, data)

    assert [str((root / "d" / each).readlink()) for each in ("one", "two")] == ["../f", "../f"]
    assert (root / "last").exists()
    assert counter.files_done == 3


def test_hard_links_to_symbolic_links_that_lead_out_from_their_own_place_are_left_out(tmp_path: Path) -> None:
    data = directory("d") + symlink("d/one", "../f") + hard_link("two", "d/one") + member("last") + END

    with pytest.raises(CopyError, match=r"'two', which links to '\.\./f', outside of the copy"):
        unpack(tmp_path, data)

    assert {each.name for each in tmp_path.iterdir()} == {"d", "last"}


@pytest.mark.parametrize("left_out", [symlink("one", "/etc"), member("one", type=MemberType.FIFO)])
def test_hard_links_to_what_is_left_out_are_left_out_too(tmp_path: Path, left_out: bytes) -> None:
    data = left_out + hard_link("two", "one") + hard_link("three", "two") + member("last") + END
    (tmp_path / "old").mkdir()
    (tmp_path / "old/one").write_bytes(b"not of this copy")

    with pytest.raises(CopyError, match="'two', which is a hard link to 'one', which is not in the copy") as caught:
        unpack(tmp_path / "new", data)
    unpack(tmp_path / "old", data, skip_special=True)

    assert len(caught.value.skipped) == 3
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["last"]
    assert {each.name for each in (tmp_path / "old").iterdir()} == {"one", "last"}


def test_hard_links_lead_to_what_has_come_last_under_a_name(tmp_path: Path) -> None:
    unpack(
        tmp_path,
        symlink("one", "/etc") + member("one", b"x") + hard_link("two", "one") + END,
        skip_special=True,
    )

    assert (tmp_path / "two").read_bytes() == b"x"


def test_no_link_that_was_there_before_is_multiplied_if_it_leads_out(tmp_path: Path) -> None:
    (tmp_path / "existing").symlink_to("../outside")

    unpack(tmp_path, hard_link("h", "existing") + END, skip_special=True)

    assert [each.name for each in tmp_path.iterdir()] == ["existing"]


def test_no_part_of_a_file_is_left_when_the_archive_ends_early(tmp_path: Path) -> None:
    data = member("whole", b"x") + member("part", b"y" * 1000)[:-600]

    with pytest.raises(CopyError, match="not complete"):
        unpack(tmp_path / "copy", data)

    assert [each.name for each in (tmp_path / "copy").iterdir()] == ["whole"]


def test_a_directory_that_gets_nothing_is_not_left_behind(tmp_path: Path) -> None:
    with pytest.raises(CopyError, match="cannot be read"):
        unpack(tmp_path / "copy", b"garbage" * 100)

    assert not (tmp_path / "copy").exists()


def test_a_file_does_not_replace_a_directory_nor_a_directory_a_file(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_bytes(b"kept")

    with pytest.raises(FileExistsError):
        unpack(tmp_path, member("d", b"x") + END)
    with pytest.raises(CopyError, match="refused"):
        unpack(tmp_path, directory("f") + END)

    assert (tmp_path / "d").is_dir()
    assert (tmp_path / "f").read_bytes() == b"kept"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_single_file_gets_its_name_when_all_has_come(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    sink = FileUnpacker(path, CopyCounter(), preserve=True)
    sink.feed(member("anything", b"new", mode=0o640, mtime=7.0) + END)
    assert path.read_bytes() == b"old"

    sink.finish()
    sink.close()

    assert path.read_bytes() == b"new"
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_mtime) == (0o640, 7)
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(
    "data", [directory("d") + END, symlink("l", "x") + END, member("a") + member("b") + END, END, b""]
)
def test_an_archive_that_is_not_one_file_is_refused(tmp_path: Path, data: bytes) -> None:
    sink = FileUnpacker(tmp_path / "f", CopyCounter(), preserve=True)

    with pytest.raises(CopyError):
        consume(sink, data)

    assert not list(tmp_path.iterdir())


def test_a_device_is_not_replaced_by_a_file() -> None:
    with pytest.raises(FileExistsError, match="not a file"):
        ContentWriter(Path("/dev/null"), CopyCounter())


NAMES = st.lists(
    st.sampled_from(["a", "b", "..", ".", "", "existing", "inner", "kept", "x" * 20]), min_size=1, max_size=4
).map("/".join)
TYPES = st.sampled_from(
    [
        MemberType.FILE,
        MemberType.FILE,
        MemberType.DIRECTORY,
        MemberType.SYMLINK,
        MemberType.HARD_LINK,
        MemberType.FIFO,
    ]
)
HOSTILE = st.lists(st.tuples(NAMES, TYPES, NAMES, st.sampled_from([0o755, 0o644, 0o000, 0o4777])), max_size=8)


@pytest.mark.slow
@given(HOSTILE, st.lists(st.integers(1, 2000), max_size=8), st.integers(0, 200))
def test_nothing_outside_changes_whatever_an_archive_has(
    members: list[tuple[str, MemberType, str, int]], sizes: list[int], cut: int
) -> None:
    data = b"".join(
        member(name, b"evil" if kind is MemberType.FILE else b"", type=kind, link=link.encode(), mode=mode)
        for name, kind, link, mode in members
    )
    data = (data + END)[: -cut if cut else None]
    with tempfile.TemporaryDirectory() as folder:
        outside, root = Path(folder, "outside"), Path(folder, "copy")
        (outside / "inner").mkdir(parents=True)
        (outside / "kept").write_bytes(b"kept")
        root.mkdir()
        (root / "existing").symlink_to("../outside")
        before = state(outside)
        sink = TreeUnpacker(root, CopyCounter(), preserve=True, skip_special=True)
        try:
            at = 0
            for size in (*sizes, len(data)):
                sink.feed(data[at : at + size])
                at += size
            sink.finish()
        except (CopyError, OSError):
            pass
        finally:
            sink.close()

        assert state(outside) == before
        assert {each.name for each in Path(folder).iterdir()} == {"outside", "copy"}
        for path in root.rglob("*"):
            assert not path.name.startswith(".masthead-")
            if path.is_symlink() and path != root / "existing":
                # Through the link that was there before, one may get out; by itself, none leads there.
                assert not leads_out(bytes(path.readlink()), len(path.relative_to(root).parts) - 1)
