"""The storage: every state of every object since the last compaction, each with its revision.

One counter, the revision, numbers all writes. A write makes a `Record`, which knows the one before it; so the
present is the newest record of each key, and the past, down to the last compaction, is found by walking back.
Pages of a list read one past revision, and a watch reads the records of its table in order, from its own
position: there is no queue for it.

Values are opaque bytes. Nothing blocks, and all calls come from one thread. With a `Journal`, a record is
written there before it is visible.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "CompactedError",
    "Journal",
    "JournalError",
    "Record",
    "RecordTable",
    "ReplacedObject",
    "Storage",
    "StoredRow",
    "StoredState",
]

FIRST_REVISION: Final = 1
"""The revision of an empty store: above 0, which means "any" in requests."""
_revision_of = attrgetter("revision")


class CompactedError(Exception):
    """The requested revision has been compacted.

    Attributes:
        revision: The requested revision.
        oldest: The oldest revision that can still be read.
    """

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} has been compacted; the oldest is {oldest}")
        self.revision = revision
        self.oldest = oldest


class JournalError(StatusFailure):
    """A record could not be stored: the disk is full, say. The response is that of a failure of etcd."""

    def __init__(self, problem: str) -> None:
        super().__init__(500, "", problem)


class Record:
    """One state of one object.

    Attributes:
        revision: The revision of the write.
        key: ``namespace/name``, or ``name``.
        value: The object's bytes; for a deletion, its last state with the deletion's revision.
        is_deleted: Whether this write removed the object.
        previous: The record before, if it is not compacted.
        labels: The object's labels, cached once they were read.
        uid_hash: The hash of the object's uid, cached once a shard selector was matched.
    """

    __slots__ = ("is_deleted", "key", "labels", "previous", "revision", "uid_hash", "value")

    def __init__(self, revision: int, key: str, value: bytes, previous: Record | None, *, is_deleted: bool) -> None:
        self.revision: int = revision
        self.key: str = key
        self.value: bytes = value
        self.previous: Record | None = previous
        self.is_deleted: bool = is_deleted
        self.labels: dict[str, str] | None = None
        self.uid_hash: int | None = None

    @property
    def before(self) -> Record | None:
        """The object before this write; None if there was none."""
        earlier = self.previous
        return None if earlier is None or earlier.is_deleted else earlier


class StoredRow(NamedTuple):
    """A record outside of its table."""

    table: str
    key: str
    revision: int
    is_deleted: bool
    value: bytes


class ForeignObjects(NamedTuple):
    """The uids of objects of another cluster, which a dump was taken of."""

    owners: frozenset[str] = frozenset()
    """Owners that the dump lacks; they count as existing."""
    pods: frozenset[str] = frozenset()
    """Pods that ran there, and do not run here."""


class StoredState(NamedTuple):
    """The records of a storage, by revision, its revision and that of its last compaction."""

    rows: tuple[StoredRow, ...]
    revision: int
    compacted: int
    foreign: ForeignObjects = ForeignObjects()
    """The objects of the cluster of a loaded dump."""

    def present(self) -> list[StoredRow]:
        """Return the objects that exist."""
        last = {(row.table, row.key): row for row in self.rows}
        return [row for row in last.values() if not row.is_deleted]


class ReplacedObject(NamedTuple):
    """An object that `Storage.replace` has changed: its table, and its new record, which may be its deletion."""

    table: str
    record: Record


class Journal(Protocol):
    """Stores records beyond the life of the process."""

    def read(self) -> Iterable[tuple[str, str, int, bool, bytes]]:
        """Return all records by revision, each as table, key, revision, is deleted, and value."""
        ...

    def read_compacted(self) -> int:
        """Return the revision of the last compaction."""
        ...

    def read_foreign(self) -> ForeignObjects:
        """Return the objects of the cluster of a loaded dump."""
        ...

    def append(self, table: str, record: Record) -> None:
        """Store a record; when this returns, it survives the death of the process.

        Raises:
            JournalError: If it could not be stored; then nothing of it was.
        """
        ...

    def check_writable(self) -> None:
        """Write without a change.

        Raises:
            JournalError: If that fails.
        """
        ...

    def compact(self, revision: int) -> None:
        """Drop states that were superseded at or before a revision.

        Raises:
            JournalError: If it could not be dropped; then nothing was.
        """
        ...

    def replace(self, rows: Iterable[StoredRow], revision: int, foreign: ForeignObjects) -> None:
        """Store these records and foreign objects instead of all others, compacted at a revision.

        Raises:
            JournalError: If they could not be stored; then nothing has changed.
        """
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class RecordTable:
    """The objects of one resource."""

    def __init__(self) -> None:
        self.log: list[Record] = []
        """The records since the last compaction, in order."""
        self.dropped: int = 0
        """The newest revision that is no longer in the log."""
        # In the order of their registration, so that runs with one seed are alike.
        self.listeners: dict[Callable[[], object], None] = {}
        """Called after every write."""
        self.enders: dict[Callable[[], object], None] = {}
        """Called when the resource is no longer served."""
        self.count: int = 0
        """How many objects there are."""
        self._latest: dict[str, Record] = {}
        self._keys: list[str] = []

    def get(self, key: str) -> Record | None:
        """Return the present record of an object, or None."""
        record = self._latest.get(key)
        return None if record is None or record.is_deleted else record

    def scan(self, prefix: str, revision: int, *, after: str = "") -> Iterator[Record]:
        """Iterate over the objects at a revision, ordered by key.

        Args:
            prefix: Only keys with this prefix.
            revision: The revision to read.
            after: Start at the first key that is not below this.
        """
        keys = self._keys
        index = bisect_left(keys, max(prefix, after))
        # Keys with one prefix are adjacent; beyond the first `len(prefix)` characters they may hold anything.
        end = bisect_right(keys, prefix, lo=index, key=lambda key: key[: len(prefix)])
        latest = self._latest
        for key in keys[index:end]:
            record: Record | None = latest[key]
            while record is not None and record.revision > revision:
                record = record.previous
            if record is not None and not record.is_deleted:
                yield record

    def since(self, revision: int) -> list[Record]:
        """Iterate over the records after a revision, in order."""
        return self.log[bisect_right(self.log, revision, key=_revision_of) :]

    def last(self, key: str) -> Record | None:
        """Return the newest record of a key, which may be its deletion."""
        return self._latest.get(key)

    def add(self, record: Record) -> None:
        """Add the next record."""
        if record.key not in self._latest:
            insort(self._keys, record.key)
        self.count += (not record.is_deleted) - (record.before is not None)
        self._latest[record.key] = record
        self.log.append(record)

    def records(self) -> Iterator[Record]:
        """Iterate over all records, superseded ones and deletions included."""
        for latest in self._latest.values():
            record: Record | None = latest
            while record is not None:
                yield record
                record = record.previous

    def replace(self, records: dict[str, Record], revision: int) -> Iterator[Record]:
        """Replace all objects, without history; yield changed objects, and deletions of removed ones.

        Args:
            records: The objects by key.
            revision: The revision of this change.
        """
        before = {key: record for key, record in self._latest.items() if not record.is_deleted}
        for last in before.values():
            last.previous = None
        self._latest = dict(records)
        self._keys = sorted(records)
        self.log.clear()
        self.count = len(records)
        self.dropped = revision
        for key, last in before.items():
            if key not in records:
                yield Record(revision, key, last.value, last, is_deleted=True)
        for key, record in records.items():
            last_record = before.get(key)
            if last_record is None or (last_record.revision, last_record.value) != (record.revision, record.value):
                yield Record(record.revision, key, record.value, last_record, is_deleted=False)

    def compact(self, revision: int) -> None:
        """Drop states that were superseded at or before a revision."""
        end = bisect_right(self.log, revision, key=_revision_of)
        gone: set[str] = set()
        for record in self.log[:end]:
            record.previous = None
            # A key that was created again has a newer record, and stays.
            if record.is_deleted and self._latest[record.key] is record:
                del self._latest[record.key]
                gone.add(record.key)
            self.dropped = record.revision
        del self.log[:end]
        if gone:
            self._keys = [key for key in self._keys if key not in gone]


class _Past:
    """Counts the bytes of history, and finds the revision to compact at.

    A write keeps the state before it until the write is compacted; a deletion, its own state.

    Args:
        most: The most bytes that there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._kept: deque[tuple[int, int]] = deque()

    def add(self, record: Record) -> None:
        """Count the next record of any table."""
        before = record.before
        size = (len(before.value) if before else 0) + (len(record.value) if record.is_deleted else 0)
        if size:
            self._kept.append((record.revision, size))
            self._size += size

    def surplus(self) -> int:
        """Return the revision to compact at so that half of the limit is left; 0 within the limit."""
        if self._size <= self._most:
            return 0
        left = self._size
        for revision, size in self._kept:
            left -= size
            # Half of it, so that not every further write has to compact again.
            if left <= self._most // 2:
                return revision
        return 0

    def clear(self) -> None:
        """Forget everything: there is no history any more."""
        self._kept.clear()
        self._size = 0

    def forget(self, upto: int) -> None:
        """Subtract what a compaction drops."""
        while self._kept and self._kept[0][0] <= upto:
            self._size -= self._kept.popleft()[1]


class Storage:
    """All tables, and the one revision that numbers their writes.

    Args:
        journal: Stores records beyond the life of the process; the constructor loads its records.
        state: The records to begin with, if there is no journal.
        window: How many revisions of history to keep at least; older ones are compacted on writes.
        most_bytes: How many bytes of history to keep at most, whatever the window: superseded states and
            deletions.
    """

    def __init__(
        self,
        journal: Journal | None = None,
        *,
        state: StoredState | None = None,
        window: int = 10_000,
        most_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self.revision: int = FIRST_REVISION
        self.compacted: int = 0
        self.loaded: int = 0
        """The revision of the loaded records. As in kube-apiserver, whose watch cache begins at its start, watches from
        before expire."""
        self.written: int = 0
        """The bytes of all writes since the start."""
        self.foreign: ForeignObjects = ForeignObjects()
        """The objects of the cluster of a loaded dump."""
        self.find_pin: Callable[[], int | None] = lambda: None
        """Returns a revision that must stay readable, as far as the limit of bytes allows; None for any."""
        self._journal = journal
        self._has_failed = False
        self._window = window
        self._past = _Past(most_bytes)
        self._tables: dict[str, RecordTable] = {}
        if state is not None:
            self._load(state.rows, lambda: state.compacted)
            self.revision = self.loaded = max(self.revision, state.revision)
            self.foreign = state.foreign
        if journal is not None:
            try:
                self._load(journal.read(), journal.read_compacted)
                self.foreign = journal.read_foreign()
            except BaseException:
                # The caller gets no storage, and so cannot close the journal.
                journal.close()
                raise

    def table(self, name: str) -> RecordTable:
        """Return the table of a resource, which is created if it does not exist."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = RecordTable()
        return table

    def tables(self) -> list[tuple[str, RecordTable]]:
        """Iterate over the tables by name."""
        return sorted(self._tables.items())

    def write(self, table_name: str, key: str, value: bytes, *, is_deleted: bool = False) -> Record:
        """Store the next state of an object; the value must already have `next_revision`.

        Raises:
            JournalError: If it could not be stored; then it is not visible either.
        """
        table = self.table(table_name)
        record = Record(self.revision + 1, key, value, table.last(key), is_deleted=is_deleted)
        if self._journal is not None:
            # Until the write is stored: a failure raises an error.
            self._has_failed = True
            self._journal.append(table_name, record)
            self._has_failed = False
        self.revision = record.revision
        self.written += len(value)
        table.add(record)
        self._past.add(record)
        for wake in tuple(table.listeners):
            wake()
        if upto := self._due():
            # The write is done, whatever the outcome; a compaction that fails is tried again after the next
            # write.
            with suppress(JournalError):
                self.compact(upto)
        return record

    def _due(self) -> int:
        """The revision to compact at now; 0 if all history can stay."""
        is_long = self.revision - self.compacted > 2 * self._window
        return max(self.before_pin(self.revision - self._window) if is_long else 0, self._past.surplus())

    def before_pin(self, revision: int) -> int:
        """Return the revision to compact at, at most the given one, so that the pinned revision stays readable."""
        pin = self.find_pin()
        return revision if pin is None else min(revision, pin)

    @property
    def next_revision(self) -> int:
        """The revision of the next write."""
        return self.revision + 1

    def skip_to(self, revision: int) -> None:
        """Let the next write have this revision, unless the storage has gone further."""
        self.revision = max(self.revision, revision - 1)

    def check_readable(self, revision: int) -> None:
        """Make sure that a revision is not compacted.

        Raises:
            CompactedError: If it is.
        """
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)

    def check_writable(self) -> None:
        """Make sure that writes can be stored.

        Raises:
            JournalError: If the last one could not be stored, and no other can.
        """
        # Only after a failure: health checks are frequent, and each would write to the disk.
        if self._journal is not None and self._has_failed:
            self._journal.check_writable()
            self._has_failed = False

    def compact(self, revision: int | None = None) -> int:
        """Drop states that were superseded at or before a revision, by default the present one.

        Returns:
            The revision of the last compaction.

        Raises:
            JournalError: If the journal could not be compacted; then nothing is.
        """
        upto = self.revision if revision is None else min(revision, self.revision)
        if upto > self.compacted:
            # The journal first: if that fails, nothing has changed.
            if self._journal is not None:
                self._journal.compact(upto)
            self.compacted = upto
            self._past.forget(upto)
            for table in self._tables.values():
                table.compact(upto)
        return self.compacted

    def state(self) -> StoredState:
        """Return all records, with their history."""
        rows = [
            StoredRow(name, record.key, record.revision, record.is_deleted, record.value)
            for name, table in self._tables.items()
            for record in table.records()
        ]
        return StoredState(tuple(sorted(rows, key=_revision_of)), self.revision, self.compacted, self.foreign)

    def replace(self, state: StoredState, *, revision: int | None = None) -> list[ReplacedObject]:
        """Replace all objects by those of a state, at the next revision, at which everything before is compacted.

        Objects keep the revisions of their last writes, as in etcd after a snapshot is restored with a higher revision.
        No revision is used twice: watches and continue tokens of before expire.

        Args:
            state: The state.
            revision: The revision of this change, before the storage has clients; None for the next one.

        Raises:
            JournalError: If the journal could not store them; then nothing has changed.
        """
        if revision is None:
            revision = max(self.revision, state.revision) + 1
        rows = sorted(state.present(), key=_revision_of)
        if self._journal is not None:
            self._journal.replace(rows, revision, state.foreign)
        self.foreign = state.foreign
        restored: dict[str, dict[str, Record]] = {name: {} for name in self._tables}
        for row in rows:
            record = Record(row.revision, row.key, row.value, None, is_deleted=False)
            restored.setdefault(row.table, {})[row.key] = record
        self.revision = self.compacted = revision
        self._past.clear()
        changed = [
            ReplacedObject(name, record)
            for name, records in restored.items()
            for record in self.table(name).replace(records, revision)
        ]
        for table in self._tables.values():
            for wake in tuple(table.listeners):
                wake()
        return changed

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()

    def _load(self, rows: Iterable[tuple[str, str, int, bool, bytes]], read_compacted: Callable[[], int]) -> None:
        for name, key, revision, is_deleted, value in rows:
            table = self.table(name)
            record = Record(revision, key, value, table.last(key), is_deleted=is_deleted)
            table.add(record)
            self._past.add(record)
            self.revision = max(self.revision, revision)
        self.compacted = read_compacted()
        # The newest records may have been compacted; their revisions must not be used again.
        self.revision = max(self.revision, self.compacted)
        self.loaded = self.revision if self._tables else 0
        self._past.forget(self.compacted)
        for table in self._tables.values():
            table.compact(self.compacted)
