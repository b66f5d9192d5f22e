"""The file system of a container."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.kubelet.filesystem import Directory, FileSystem, RegularFile, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def files() -> Iterator[FileSystem]:
    made = FileSystem(1000, lambda: 5.0)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("path", "expected"),
    [("a", "/w/a"), ("/a//b/", "/a/b"), ("../..", "/"), (".", "/w"), ("/a/../../b/./c", "/b/c"), ("", "/w")],
)
def test_paths_are_normalized(path: str, expected: str) -> None:
    assert normalize(path, "/w") == expected


@given(st.text(alphabet="a./", max_size=20), st.sampled_from(["/", "/x", "/x/y"]))
def test_a_normalized_path_has_no_special_names(path: str, cwd: str) -> None:
    found = normalize(path, cwd)

    assert found.startswith("/")
    assert not {"", ".", ".."} & set(found.strip("/").split("/") if found != "/" else ())
    assert normalize(found) == found


def test_files_grow_up_to_the_limit_and_give_their_bytes_back(files: FileSystem) -> None:
    file = files.create("/tmp/a")
    file.append(b"x" * 600)
    with pytest.raises(OSError, match="No space") as full:
        files.create("/tmp/b").append(b"x" * 500)
    assert full.value.errno == errno.ENOSPC
    assert (file.size, file.read(590, 100), file.mtime) == (600, b"x" * 10, 5.0)

    files.create("/tmp/a").append(b"y")
    files.create("/tmp/b").append(b"x" * 900)
    files.remove("/tmp", recursive=True)
    files.create("/b").append(b"z" * 1000)


def test_directories_links_and_their_errors(files: FileSystem) -> None:
    files.make_directory("/a/b", parents=True)
    files.make_directory("/a/b", parents=True)
    files.create("/a/b/c").append(b"1")
    files.link("/l", "a/b")
    files.link("/up", "../a/b/c")
    files.link("/loop", "loop")

    assert isinstance(files.get("/l"), Directory)
    assert isinstance(files.get("/l/c"), RegularFile)
    assert files.file("/up").size == 1
    assert [path for path, _ in files.walk("/a")] == ["/a", "/a/b", "/a/b/c"]
    for act, expected in (
        (lambda: files.get("/loop/x"), errno.ELOOP),
        (lambda: files.get("/no"), errno.ENOENT),
        (lambda: files.get("/a/b/c/d"), errno.ENOTDIR),
        (lambda: files.file("/a"), errno.EISDIR),
        (lambda: files.make_directory("/a"), errno.EEXIST),
        (lambda: files.make_directory("/no/x"), errno.ENOENT),
        (lambda: files.remove("/a"), errno.EISDIR),
        (lambda: files.remove("/", recursive=True), errno.EBUSY),
        (lambda: files.create("/no/x"), errno.ENOENT),
    ):
        with pytest.raises(OSError) as raised:  # noqa: PT011 - the number says which
            act()
        assert raised.value.errno == expected
    files.link("/l", "elsewhere")
    assert [path for path, _ in files.walk("/a/b")] == ["/a/b", "/a/b/c"]


def test_a_large_file_is_on_disk_and_reads_the_same() -> None:
    files = FileSystem(10_000_000, lambda: 0.0)
    file = files.create("/big")
    for number in range(256):
        file.append(bytes((number,)) * 10_000)

    assert file.read(1_234_567, 3) == bytes((123,)) * 3
    assert file.read(2_559_999, 10) == b"\xff"
    files.close()


def test_paths_and_names_are_as_long_as_in_linux(files: FileSystem) -> None:
    files.make_directory("/tmp" + "/d" * 400, parents=True)
    for act in (
        lambda: files.make_directory("/d" * 2049, parents=True),
        lambda: files.get("/d" * 2049),
        lambda: files.create("/" + "n" * 256),
    ):
        with pytest.raises(OSError) as raised:  # noqa: PT011 - the number says which
            act()
        assert raised.value.errno == errno.ENAMETOOLONG
    files.create("/" + "n" * 255)


def test_directories_are_created_when_a_path_is_first_looked_up(files: FileSystem) -> None:
    assert not files.is_used
    assert files.directory("/tmp").entries == {}
    assert files.is_used


def test_volumes_are_mounted_before_the_first_use(files: FileSystem) -> None:
    volume, mounted = FileSystem(1000, lambda: 5.0, ()), list[FileSystem]()
    volume.create("/note")

    def mount(target: FileSystem) -> None:
        mounted.append(target)
        target.mount("/data", volume.root)

    files.mount_with(mount)
    assert not mounted
    assert "note" in files.directory("/data").entries
    assert mounted == [files]


def test_volumes_of_files_in_use_are_mounted_immediately(files: FileSystem) -> None:
    mounted: list[FileSystem] = []
    files.create("/tmp/note")
    files.mount_with(mounted.append)
    assert mounted == [files]


def test_the_first_directories_are_no_change(files: FileSystem) -> None:
    changes: list[None] = []
    files.on_change = lambda: changes.append(None)
    files.get("/tmp")
    assert not changes
    files.create("/tmp/note")
    assert changes
