"""The disk cache trusts only files that no other user can have written."""

from __future__ import annotations

import logging
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from masthead._discovery.disk_cache import DiskCache, StoredDocument
from masthead.errors import ConfigError

SERVER = "https://10.0.0.1:6443"
KEY = "/apis application/json"
DOCUMENT = StoredDocument(b'{"kind":"X"}', "application/json", '"e1"', "")
START = datetime(2026, 1, 1, tzinfo=UTC)


class WallClock:
    """A settable time of day."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


def written(tmp_path: Path, server: str = SERVER) -> tuple[DiskCache, Path, WallClock]:
    """A cache with one document, and the file that it is in."""
    clock = WallClock()
    cache = DiskCache(tmp_path / "cache", server=server, now=clock)
    cache.write(KEY, DOCUMENT)
    [file] = cache.directory.iterdir()
    return cache, file, clock


def test_a_written_document_is_read_with_its_age(tmp_path: Path) -> None:
    cache, _, clock = written(tmp_path)
    clock.time += timedelta(seconds=90)

    assert cache.read(KEY) == (DOCUMENT, 90.0)
    assert DiskCache(tmp_path / "cache", server=SERVER, now=clock).read(KEY) == (DOCUMENT, 90.0)
    assert cache.read("/other application/json") is None


def test_a_later_document_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    cache, file, _ = written(tmp_path)
    later = StoredDocument(b"later", "text/plain", "", "h2")
    cache.write(KEY, later)

    assert cache.read(KEY) == (later, 0.0)
    assert list(cache.directory.iterdir()) == [file]


def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    cache, file, _ = written(tmp_path)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(cache.directory.parent.stat().st_mode) == 0o700


def test_each_server_has_a_folder_of_its_own(tmp_path: Path) -> None:
    servers = [SERVER, "https://10.0.0.1:6443/k8s/a", "https://10.0.0.1:6443/k8s-a", "http://10.0.0.1:6443"]
    caches = [DiskCache(tmp_path, server=server) for server in servers]

    assert len({cache.directory for cache in caches}) == len(servers)
    assert {cache.directory.parent for cache in caches} == {tmp_path}


def test_a_token_in_the_path_is_not_part_of_any_name(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, server="http://127.0.0.1:1/~secret")
    cache.write("key", StoredDocument(b"{}", "application/json", "", ""))

    assert cache.read("key") is not None
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert paths
    assert not [path for path in paths if "secret" in str(path) or b"secret" in path.read_bytes()]


def test_a_slash_at_the_end_and_a_password_make_no_difference(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, server="https://me:hunter2@10.0.0.1:6443/")

    assert cache.directory == DiskCache(tmp_path, server=SERVER).directory
    assert "hunter2" not in str(cache.directory)


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1), st.text(alphabet=st.characters(codec="utf-8")))
def test_files_stay_in_their_directory_for_any_name(host: str, key: str) -> None:
    root = Path("/cache")
    try:
        cache = DiskCache(root, server=f"https://{host}")
    except ConfigError:
        return
    assert cache.directory.parent == root
    assert cache._path_of(key).parent == cache.directory
    assert cache._path_of(key).name not in {"", ".", ".."}
    assert len(cache._path_of(key).name) < 100


@pytest.mark.parametrize("server", ["", "10.0.0.1", "https://", "https://me:hunter2@", "https://[bad"])
def test_an_invalid_url_is_rejected_without_repeating_it(server: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        DiskCache(tmp_path, server=server)
    assert "hunter2" not in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.data())
def test_a_truncated_or_changed_file_is_ignored(tmp_path: Path, data: st.DataObject) -> None:
    cache, file, _ = written(tmp_path)
    content = file.read_bytes()
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        file.write_bytes(content[:at])
    else:
        file.write_bytes(content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :])
    found = cache.read(KEY)

    # What holds the document itself is summed; a changed time or content type at worst costs a request.
    assert found is None or found[0].body == DOCUMENT.body
    cache.write(KEY, DOCUMENT)
    assert cache.read(KEY) == (DOCUMENT, 0.0)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 100, b"<html>"])
def test_a_file_of_another_user_is_ignored(content: bytes, tmp_path: Path) -> None:
    cache, file, _ = written(tmp_path)
    file.write_bytes(content)

    assert cache.read(KEY) is None


def test_a_file_of_another_document_or_server_is_ignored(tmp_path: Path) -> None:
    cache, file, _ = written(tmp_path)
    other = DiskCache(tmp_path / "cache", server="https://10.0.0.2:6443")
    other.write(KEY, DOCUMENT)
    [elsewhere] = other.directory.iterdir()
    file.replace(elsewhere)
    assert other.read(KEY) is None

    cache.write("/api application/json", DOCUMENT)
    [file] = cache.directory.iterdir()
    file.replace(cache._path_of(KEY))
    assert cache.read(KEY) is None


def test_a_file_from_the_future_counts_as_old(tmp_path: Path) -> None:
    cache, _, clock = written(tmp_path)
    clock.time -= timedelta(hours=1)

    assert cache.read(KEY) == (DOCUMENT, float("inf"))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_ignored(mode: int, tmp_path: Path) -> None:
    cache, file, _ = written(tmp_path)
    file.chmod(mode)

    assert cache.read(KEY) is None


def test_a_symlink_or_a_pipe_in_place_of_the_file_is_ignored(tmp_path: Path) -> None:
    cache, file, _ = written(tmp_path)
    real = file.rename(tmp_path / "elsewhere")
    file.symlink_to(real)
    assert cache.read(KEY) is None

    file.unlink()
    os.mkfifo(file)
    assert cache.read(KEY) is None


def test_a_folder_that_others_may_write_is_neither_read_nor_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache, file, _ = written(tmp_path)
    before = file.read_bytes()
    cache.directory.chmod(0o777)
    assert cache.read(KEY) is None

    for _ in range(3):
        cache.write(KEY, StoredDocument(b"new", "", "", ""))
    assert file.read_bytes() == before
    [record] = caplog.records
    assert (record.levelno, record.name) == (logging.WARNING, "masthead.discovery")


def test_a_linked_folder_is_not_followed(tmp_path: Path) -> None:
    cache, _, _ = written(tmp_path)
    real = cache.directory.rename(tmp_path / "elsewhere")
    cache.directory.symlink_to(real)

    assert cache.read(KEY) is None


def test_where_nothing_can_be_written_the_log_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    cache = DiskCache(tmp_path / "cache", server=SERVER)

    for _ in range(3):
        cache.write(KEY, DOCUMENT)
    assert cache.read(KEY) is None
    [record] = caplog.records
    assert "is not kept in" in record.getMessage()
