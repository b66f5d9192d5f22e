"""A journal in an SQLite file, so that a server finds its objects again.

Write-ahead logging, one transaction a record: what was acknowledged survives the death of the process at any
moment. (Against the loss of power it is as safe as SQLite's NORMAL level: a file that is whole, perhaps without the
last moments.) The file belongs to one server at a time.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._server.files import make_private
from masthead._server.storage import JournalError
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from masthead._server.storage import Record

__all__ = ["DataFileError", "SqliteJournal"]

_FORMAT: Final = 1
_APPLICATION: Final = 0x6D617374  # "mast": tells our files from other people's databases
_SCHEMA: Final = f"""
    CREATE TABLE IF NOT EXISTS record (
        revision INTEGER PRIMARY KEY,
        resource TEXT NOT NULL,
        key TEXT NOT NULL,
        is_deleted INTEGER NOT NULL,
        value BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS compaction (revision INTEGER NOT NULL);
    INSERT INTO compaction SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM compaction);
    PRAGMA application_id = {_APPLICATION};
    PRAGMA user_version = {_FORMAT};
"""
# Of what was superseded by then nothing stays, nor anything of what was deleted by then.
_COMPACT: Final = """
    DELETE FROM record WHERE revision <= :upto AND (is_deleted OR revision NOT IN (
        SELECT max(revision) FROM record WHERE revision <= :upto GROUP BY resource, key
    ))
"""
_CHECKPOINT_PAGES: Final = 16_384
"""How much is written before it is moved to its place, which waits for the disk: 64 MiB rather than 4."""

_BESIDE: Final = ("-journal", "-wal", "-shm")
"""What the names of SQLite's own files end with."""
_MEANINGS: Final = {
    "locked": "is in use by another server. Stop that one",
    "readonly": "is in a folder that cannot be written. Get the right to write there",
    "full": "does not fit on the disk. Make room",
}
"""What SQLite's complaints mean to those who start a server."""


class DataFileError(ConfigError):
    """The file cannot be used: another server has it, it may not be written, or it is no file of ours."""


class SqliteJournal:
    """Keeps records in a file, which is made if it is not there.

    Raises:
        DataFileError: The file is in use, may not be written, or is not such a file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # SQLite's own words for a file that it may not write are of no help. Secrets are in there: for us alone.
            # Files that SQLite makes beside it have the same mode; those that are there may have another.
            make_private(path)
            for beside in _BESIDE:
                if os.path.lexists(f"{path}{beside}"):
                    make_private(Path(f"{path}{beside}"))
        except OSError as error:
            raise DataFileError(
                f"cannot write {error.filename or path}: {error.strerror}. "
                "Name a file that you may write, in a folder that exists."
            ) from None
        # The server's loop may run in another thread than the one that made it; there is one at a time.
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
        """Every kept record in the order of revisions, as table, key, revision, is deleted, and value.

        Raises:
            DataFileError: The file is damaged.
        """
        try:
            rows = self._db.execute(
                "SELECT resource, key, revision, is_deleted, value FROM record ORDER BY revision"
            )
            for resource, key, revision, is_deleted, value in rows:
                yield resource, key, revision, bool(is_deleted), value
        except sqlite3.Error as error:
            raise DataFileError(self._explain(error)) from None

    def read_compacted(self) -> int:
        """The last compaction.

        Raises:
            DataFileError: The file is damaged.
        """
        try:
            return int(self._db.execute("SELECT revision FROM compaction").fetchone()[0])
        except sqlite3.Error as error:
            raise DataFileError(self._explain(error)) from None

    def append(self, table: str, record: Record) -> None:
        """Keep a record; when this returns, the death of the process does not lose it.

        Raises:
            JournalError: It could not be kept, and nothing of it was.
        """
        row = (record.revision, table, record.key, record.is_deleted, record.value)
        with self._all_or_nothing():
            self._db.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?)", row)

    def compact(self, revision: int) -> None:
        """Forget what was superseded at or before a revision.

        Raises:
            JournalError: It could not, and everything is as it was.
        """
        with self._all_or_nothing(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(_COMPACT, {"upto": revision})
            self._db.execute("UPDATE compaction SET revision = ?", (revision,))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _prepare(self) -> None:
        # Held from the first write until the end, so that a second server notices at once.
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        application = self._db.execute("PRAGMA application_id").fetchone()[0]
        kept_format = self._db.execute("PRAGMA user_version").fetchone()[0]
        is_empty = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not is_empty and (application, kept_format) != (_APPLICATION, _FORMAT):
            raise DataFileError(
                f"{self._path} is a database, but not one that this server wrote. Name another file."
            )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        """Say what SQLite could not write; it has undone what it had begun."""
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(f"cannot write to {self._path}: {error}") from None

    def _explain(self, error: sqlite3.Error) -> str:
        for sign, meaning in _MEANINGS.items():
            if sign in str(error):
                return f"{self._path} {meaning}, or name another file."
        return f"{self._path} is no data file of this server: {error}. Name another file."
