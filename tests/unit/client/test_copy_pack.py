"""Local files as the archive that is sent."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from typing import TYPE_CHECKING

import pytest

from masthead._client.cp.pack import Archive, file_chunks, pad_chunks
from masthead._client.cp.progress import CopyCounter
from masthead.errors import CopyError

if TYPE_CHECKING:
    from pathlib import Path


def packed(archive: Archive) -> tuple[bytes, CopyCounter]:
    counter = CopyCounter()
    return b"".join(archive.chunks(counter)), counter


def test_a_directory_is_packed_with_permissions_times_and_links(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "d").mkdir(parents=True)
    (source / "d/f").write_bytes(b"x" * 1000)
    (source / "d/f").chmod(0o751)
    os.utime(source / "d/f", (5, 5))
    (source / "link").symlink_to("/etc/hosts")
    (source / "\udcff").write_bytes(b"")
    (source / ("n" * 200)).write_bytes(b"")

    data, counter = packed(Archive(source, "name"))

    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        names = opened.getnames()
        file, link = opened.getmember("name/d/f"), opened.getmember("name/link")
    assert names == ["name", "name/d", "name/d/f", "name/link", f"name/{'n' * 200}", "name/\udcff"]
    assert (file.size, file.mode, file.mtime, file.uid) == (1000, 0o751, 5, 0)
    assert link.linkname == "/etc/hosts"
    assert (counter.bytes_done, counter.files_done) == (1000, 3)


def test_what_a_directory_holds_is_packed_without_the_directory(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")

    data, _ = packed(Archive(tmp_path, ""))

    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        assert opened.getnames() == ["f"]


def test_the_size_of_an_archive_is_known_before_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / ("n" * 150)).write_bytes(b"x" * 700)
    (tmp_path / "link").symlink_to("l" * 120)
    archive = Archive(tmp_path, "name")

    sizes = archive.size()

    data, _ = packed(archive)
    assert (sizes.content, sizes.archive) == (700, len(data))


@pytest.mark.slow
def test_directories_nested_more_deeply_than_calls_may_be_are_packed(tmp_path: Path) -> None:
    depths = [f"{tmp_path}{'/d' * depth}" for depth in range(1, 1501)]
    for each in depths:
        os.mkdir(each)  # noqa: PTH102 - a Path would be slow
    try:
        assert Archive(tmp_path, "").size().archive > 1500 * 512
    finally:
        for each in reversed(depths):  # which pytest could not
            os.rmdir(each)  # noqa: PTH106


def test_special_files_are_refused_or_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "f").write_bytes(b"")

    with pytest.raises(CopyError, match="fifo"):
        Archive(tmp_path, "").size()
    data, _ = packed(Archive(tmp_path, "", skip_special=True))

    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        assert opened.getnames() == ["f"]


def test_the_contents_of_a_file_that_is_no_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")

    with pytest.raises(NotADirectoryError):
        Archive(tmp_path / "f", "").size()


def test_a_file_that_grows_is_sent_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"new and longer")

    assert b"".join(file_chunks(path, 3, CopyCounter())) == b"new"


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"short")

    with pytest.raises(CopyError, match="shorter"):
        list(file_chunks(path, 100, CopyCounter()))


def test_a_file_that_has_become_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "f").symlink_to("secret")

    with pytest.raises(OSError, match="symbolic"):
        list(file_chunks(tmp_path / "f", 6, CopyCounter()))


def test_an_announced_size_is_filled_up_and_never_exceeded() -> None:
    assert b"".join(pad_chunks(iter([b"abc", b"d"]), 6)) == b"abcd\0\0"
    with pytest.raises(CopyError, match="changed"):
        list(pad_chunks(iter([b"abc", b"d"]), 3))


def test_a_file_alone_is_packed_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "f").chmod(0o4711)

    data, _ = packed(Archive(tmp_path / "f", "renamed"))

    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        (member,) = opened.getmembers()
    assert (member.name, stat.S_IMODE(member.mode)) == ("renamed", 0o4711)
