"""The journal in an SQLite file, from which a server loads its objects.

Write-ahead logging, one transaction per record: an acknowledged write survives the death of the process at any
moment. (Against the loss of power it is as safe as SQLite's NORMAL level: a consistent file, perhaps without
the last writes.) The file belongs to one server at a time.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.typeinfo import json_decoder
from masthead.errors import ConfigError
from masthead_server.files import make_private
from masthead_server.storage import ForeignObjects, JournalError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from masthead_server.storage import Record, StoredRow

__all__ = ["DataFileError", "SqliteJournal", "is_json_object"]

_FORMAT: Final = 1
_APPLICATION: Final = 0x6D617374  # "mast": marks our files among other databases
_FOREIGN: Final = ("foreign_owner", "foreign_pod")
"""The tables of `ForeignObjects`, in the order of its fields."""
_SCHEMA: Final = f"""
    CREATE TABLE IF NOT EXISTS record (
        revision INTEGER PRIMARY KEY,
        resource TEXT NOT NULL,
        key TEXT NOT NULL,
        is_deleted INTEGER NOT NULL,
        value BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS compaction (revision INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS foreign_owner (uid TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS foreign_pod (uid TEXT PRIMARY KEY);
    INSERT INTO compaction SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM compaction);
    PRAGMA application_id = {_APPLICATION};
    PRAGMA user_version = {_FORMAT};
"""
# Drops superseded and deleted states.
_COMPACT: Final = """
    DELETE FROM record WHERE revision <= :upto AND (is_deleted OR revision NOT IN (
        SELECT max(revision) FROM record WHERE revision <= :upto GROUP BY resource, key
    ))
"""
_CHECKPOINT_PAGES: Final = 16_384
"""Pages that are written before a checkpoint, which waits for the disk: 64 MiB rather than 4."""

_BESIDE: Final = ("-journal", "-wal", "-shm")
"""The suffixes of SQLite's own files."""
_MEANINGS: Final = {
    "locked": "is in use by another server. Stop that one",
    "readonly": "is in a folder that cannot be written. Get the right to write there",
    "full": "does not fit on the disk. Make room",
}
"""SQLite's errors, explained for the user who starts a server."""

_MAGIC: Final = b"SQLite format 3\0"
_RAW: Final = json_decoder(msgspec.Raw)
"""Checks the syntax without making values: six times as fast."""


class DataFileError(ConfigError):
    """The file cannot be used: another server uses it, it is not writable, or it is not a data file."""


class SqliteJournal:
    """Stores records in a file, which is created if it does not exist.

    Args:
        path: The file.
        is_valid: Whether a value that is read may have been written; by default, any bytes may.

    Raises:
        DataFileError: If the file is in use, is not writable, or is not a data file.
    """

    def __init__(self, path: Path, is_valid: Callable[[bytes], bool] = lambda _: True) -> None:
        self._path = path
        self._is_valid = is_valid
        try:
            # Done by hand, as SQLite's message for a file that is not writable is no help, and as the file
            # has secrets in it. SQLite creates its auxiliary files with the same mode; existing ones may
            # have another.
            make_private(path)
            for beside in _BESIDE:
                if os.path.lexists(f"{path}{beside}"):
                    make_private(Path(f"{path}{beside}"))
        except OSError as error:
            raise DataFileError(
                f"cannot write {error.filename or path}: {error.strerror}. "
                "Name a file that you may write, in a folder that exists."
            ) from None
        # The server's loop may run in another thread than the constructor, but never in two.
        self._db = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._db.close()
            raise DataFileError(self._explain(error)) from None
        except DataFileError:
            self._db.close()
            raise

    def read(self) -> Iterator[tuple[str, str, int, bool, bytes]]:
        """Return all records by revision, each as table, key, revision, is deleted, and value.

        Raises:
            DataFileError: If the file is damaged.
        """
        try:
            rows = self._db.execute("SELECT resource, key, revision, is_deleted, value FROM record ORDER BY revision")
            for resource, key, revision, is_deleted, value in rows:
                if not isinstance(value, bytes) or not self._is_valid(value):
                    raise DataFileError(
                        f"{self._path} is damaged: its record {revision}, of {resource} {key}, is no JSON object. "
                        "Restore the file from a copy, or name another one."
                    )
                yield resource, key, revision, bool(is_deleted), value
        except sqlite3.Error as error:
            raise DataFileError(self._explain(error)) from None

    def read_compacted(self) -> int:
        """Return the revision of the last compaction.

        Raises:
            DataFileError: If the file is damaged.
        """
        try:
            return int(self._db.execute("SELECT revision FROM compaction").fetchone()[0])
        except sqlite3.Error as error:
            raise DataFileError(self._explain(error)) from None

    def read_foreign(self) -> ForeignObjects:
        """Return the objects of the cluster of a loaded dump.

        Raises:
            DataFileError: If the file is damaged.
        """
        try:
            owners, pods = (self._db.execute(f"SELECT uid FROM {table}").fetchall() for table in _FOREIGN)
        except sqlite3.Error as error:
            raise DataFileError(self._explain(error)) from None
        return ForeignObjects(frozenset(str(uid) for (uid,) in owners), frozenset(str(uid) for (uid,) in pods))

    def append(self, table: str, record: Record) -> None:
        """Store a record; when this returns, it survives the death of the process.

        Raises:
            JournalError: If it could not be stored; then nothing of it was.
        """
        row = (record.revision, table, record.key, record.is_deleted, record.value)
        with self._all_or_nothing():
            self._db.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?)", row)

    def check_writable(self) -> None:
        """Write without a change.

        Raises:
            JournalError: If that fails.
        """
        with self._all_or_nothing():
            self._db.execute("UPDATE compaction SET revision = revision")

    def compact(self, revision: int) -> None:
        """Drop states that were superseded at or before a revision.

        Raises:
            JournalError: If it could not be dropped; then nothing was.
        """
        with self._all_or_nothing(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(_COMPACT, {"upto": revision})
            self._db.execute("UPDATE compaction SET revision = ?", (revision,))

    def replace(self, rows: Iterable[StoredRow], revision: int, foreign: ForeignObjects) -> None:
        """Store these records and foreign objects instead of all others, compacted at a revision.

        Raises:
            JournalError: If they could not be stored; then nothing has changed.
        """
        with self._all_or_nothing(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM record")
            self._db.executemany(
                "INSERT INTO record VALUES (?, ?, ?, ?, ?)",
                ((row.revision, row.table, row.key, row.is_deleted, row.value) for row in rows),
            )
            for table, uids in zip(_FOREIGN, foreign, strict=True):
                self._db.execute(f"DELETE FROM {table}")
                self._db.executemany(f"INSERT INTO {table} VALUES (?)", ((uid,) for uid in uids))
            self._db.execute("UPDATE compaction SET revision = ?", (revision,))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _prepare(self) -> None:
        # Held from the first write until the end, so that a second server fails immediately.
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        kept_format = self._db.execute("PRAGMA user_version").fetchone()[0]
        is_empty = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not is_empty and (application, kept_format) != (_APPLICATION, _FORMAT):
            raise DataFileError(f"{self._path} is a database, but not one that this server wrote. Name another file.")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        """Name what SQLite could not write; it has rolled back."""
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(f"cannot write to {self._path}: {error}") from None

    def _explain(self, error: sqlite3.Error) -> str:
        for sign, meaning in _MEANINGS.items():
            if sign in str(error):
                return f"{self._path} {meaning}, or name another file."
        if self._is_database():
            return f"{self._path} is damaged ({error}). Restore the file from a copy, or name another one."
        return f"{self._path} is no data file of this server: {error}. Name another file."

    def _is_database(self) -> bool:
        """Whether the file begins as every SQLite database does."""
        with self._path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC


def is_json_object(value: bytes) -> bool:
    """Whether a stored value is a JSON object. SQLite has no checksums, and values are sent to clients as they are.

    It is stored without the opening brace: see `masthead_server.resources.codec`.
    """
    try:
        value.decode()
        _RAW.decode(b"{" + value)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return False
    return True
