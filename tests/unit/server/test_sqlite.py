"""A data file gives back what was written, and an unusable one is reported with the reason."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.stateful import rule
from tests.unit.server.test_storage import StorageMachine

import masthead.server
from masthead.errors import ConfigError
from masthead_server.sqlite import DataFileError, SqliteJournal
from masthead_server.storage import JournalError, Storage

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65534


class SqliteMachine(StorageMachine):
    """The contract of a storage, with a file that is closed and reopened now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())

    def make(self, window: int) -> Storage:
        return Storage(SqliteJournal(self.folder / "data"), window=window)

    @rule()
    def reopen(self) -> None:
        self.storage.close()
        self.storage = self.make(self.window)
        self.listen()

    def teardown(self) -> None:
        if hasattr(self, "storage"):
            self.storage.close()
        shutil.rmtree(self.folder)


TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)


def opened(path: Path) -> Storage:
    return Storage(SqliteJournal(path))


@contextlib.contextmanager
def without_rights() -> Iterator[None]:
    """Run as a user to whom file permissions apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can look into; pytest's own ones are closed to others."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_objects_are_found_again_with_their_versions_and_their_past(tmp_path: Path) -> None:
    storage = opened(tmp_path / "data")
    storage.write("x", "a", b"one")
    storage.write("x", "a", b"two")
    storage.write("y", "a", b"gone")
    storage.write("y", "a", b"gone", is_deleted=True)
    storage.close()

    again = opened(tmp_path / "data")
    record = again.table("x").get("a")
    assert record is not None
    assert record.previous is not None
    assert (record.value, record.revision, record.previous.value) == (b"two", 3, b"one")
    assert again.table("y").get("a") is None
    assert (again.revision, again.compacted) == (5, 0)
    again.close()


def test_the_revision_continues_even_if_all_records_are_compacted(tmp_path: Path) -> None:
    storage = opened(tmp_path / "data")
    storage.write("x", "a", b"")
    storage.write("x", "a", b"", is_deleted=True)
    storage.compact()
    storage.close()

    again = opened(tmp_path / "data")
    assert (again.revision, again.compacted) == (3, 3)
    assert again.write("x", "a", b"").revision == 4
    again.close()


def test_keys_and_values_may_hold_any_text_and_any_bytes(tmp_path: Path) -> None:
    storage = opened(tmp_path / "data")
    storage.write("x", "n\0s/\U0010ffff'\"é", bytes(range(256)))
    storage.close()

    again = opened(tmp_path / "data")
    record = again.table("x").get("n\0s/\U0010ffff'\"é")
    assert record is not None
    assert record.value == bytes(range(256))
    again.close()


def test_a_data_file_is_used_by_one_server_at_a_time(tmp_path: Path) -> None:
    first = opened(tmp_path / "data")
    with pytest.raises(DataFileError, match=r"is in use by another server\. Stop that one, or name another file"):
        SqliteJournal(tmp_path / "data")
    first.write("x", "a", b"")  # the other one did no harm
    first.close()

    second = opened(tmp_path / "data")
    assert second.revision == 2
    second.close()


def test_a_file_other_than_a_database_is_rejected_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("remember the milk\n" * 100)
    with pytest.raises(DataFileError, match="is no data file of this server: file is not a database"):
        SqliteJournal(path)
    assert path.read_text() == "remember the milk\n" * 100
    assert list(tmp_path.iterdir()) == [path]


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE record (a)")
    before = path.read_bytes()
    with pytest.raises(DataFileError, match="is a database, but not one that this server wrote"):
        SqliteJournal(path)
    assert path.read_bytes() == before


def test_a_file_of_a_later_format_is_refused(tmp_path: Path) -> None:
    SqliteJournal(tmp_path / "data").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "data")) as later:
        later.execute("PRAGMA user_version = 2")
    with pytest.raises(DataFileError, match="not one that this server wrote"):
        SqliteJournal(tmp_path / "data")


def test_an_empty_file_is_treated_as_new(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    storage = opened(tmp_path / "data")
    assert storage.revision == 1
    storage.close()


def test_a_missing_folder_is_an_error_and_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="No such file or directory"):
        SqliteJournal(tmp_path / "nowhere" / "data")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_rejected_as_a_data_file(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="Is a directory"):
        SqliteJournal(tmp_path)


def test_a_file_that_may_not_be_written_is_refused(open_folder: Path) -> None:
    path = open_folder / "data"
    SqliteJournal(path).close()
    path.chmod(0o444)
    with without_rights(), pytest.raises(DataFileError, match="Permission denied"):
        SqliteJournal(path)


def test_a_folder_that_may_not_be_written_is_refused(open_folder: Path) -> None:
    path = open_folder / "data"
    SqliteJournal(path).close()
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
    open_folder.chmod(0o555)
    with without_rights(), pytest.raises(DataFileError, match="is in a folder that cannot be written"):
        SqliteJournal(path)


def test_a_file_that_another_user_can_read_is_refused(open_folder: Path) -> None:
    path = open_folder / "data"
    path.touch()
    path.chmod(0o666)
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    with without_rights(), pytest.raises(DataFileError, match="it belongs to another user"):
        SqliteJournal(path)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_data_file_and_its_sidecar_files_become_private(tmp_path: Path, umask: int) -> None:
    names = ("data", "data-journal", "data-wal", "data-shm")
    for name in names:
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    before = os.umask(umask)
    try:
        journal = SqliteJournal(tmp_path / "data")
        new = SqliteJournal(tmp_path / "new")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    journal.close()
    new.close()

    assert {"data", "data-wal", "new", "new-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("name", ["data", "data-wal"])
def test_a_data_file_that_is_a_symbolic_link_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataFileError, match=rf"cannot write .*{name}: it is a symbolic link"):
        SqliteJournal(tmp_path / "data")

    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_a_damaged_file_is_refused_and_closed(tmp_path: Path) -> None:
    storage = opened(tmp_path / "data")
    for number in range(200):
        storage.write("x", str(number), b"x" * 1000)
    storage.close()
    content = bytearray((tmp_path / "data").read_bytes())
    content[8192:40960] = b"\xff" * (40960 - 8192)
    (tmp_path / "data").write_bytes(content)

    for _ in range(2):  # the second time because the first must not have kept the file
        with pytest.raises(DataFileError, match=r"is damaged \(.*malformed\)\. Restore the file from a copy"):
            opened(tmp_path / "data")


@pytest.mark.parametrize("size", [50, 5_000, 20_000])
def test_a_truncated_file_is_damaged(tmp_path: Path, size: int) -> None:
    path = tmp_path / "data"
    storage = opened(path)
    for number in range(200):
        storage.write("x", str(number), b"x" * 1000)
    storage.close()
    path.write_bytes(path.read_bytes()[:size])

    with pytest.raises(DataFileError, match=r"is damaged \(.*\)\. Restore the file from a copy, or name another"):
        opened(path)


def full(storage: Storage, path: Path) -> None:
    """Let no page be added to the file from now on."""
    journal = storage._journal
    assert isinstance(journal, SqliteJournal)
    journal._db.execute(f"PRAGMA max_page_count = {path.stat().st_size // 4096}").fetchall()


def test_a_write_that_does_not_fit_on_the_disk_did_not_happen(tmp_path: Path) -> None:
    path = tmp_path / "data"
    opened(path).close()
    storage = opened(path)
    storage.write("x", "a", b"old")
    full(storage, path)

    with pytest.raises(JournalError, match="database or disk is full") as error:
        storage.write("x", "a", b"x" * 100_000)

    assert (error.value.code, error.value.reason, storage.revision) == (500, "", 2)
    assert storage.write("x", "a", b"new").revision == 3  # this one fits
    storage.close()
    again = opened(path)
    record = again.table("x").get("a")
    assert record is not None
    assert (record.value, again.revision) == (b"new", 3)
    again.close()


def test_a_journal_tells_whether_it_can_write(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "data")
    journal.check_writable()
    journal.close()

    with pytest.raises(JournalError, match="cannot write to"):
        journal.check_writable()


def test_a_failed_compaction_leaves_the_data_unchanged(tmp_path: Path) -> None:
    storage = opened(tmp_path / "data")
    storage.write("x", "a", b"old")
    storage.write("x", "a", b"new")
    journal = storage._journal
    assert isinstance(journal, SqliteJournal)
    journal._db.execute("DROP TABLE compaction")

    with pytest.raises(JournalError):
        storage.compact()

    assert storage.compacted == 0
    assert [row[2] for row in journal.read()] == [2, 3]
    storage.close()


def test_a_server_reports_what_is_wrong_with_its_data_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember the milk\n" * 100)
    with pytest.raises(ConfigError, match="is no data file of this server"):
        masthead.server.run(data=tmp_path / "notes.txt").__enter__()


def test_two_servers_do_not_share_a_data_file(tmp_path: Path) -> None:
    with masthead.server.run(data=tmp_path / "data", bootstrap=False) as server:
        with pytest.raises(ConfigError, match="is in use by another server"):
            masthead.server.run(data=tmp_path / "data").__enter__()
        revision = server.revision
    with masthead.server.run(data=tmp_path / "data", bootstrap=False) as again:
        assert again.revision == revision
