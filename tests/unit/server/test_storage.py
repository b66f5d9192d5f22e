"""Writes can be read back, at the current revision and at every earlier one that is not compacted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from masthead_server.storage import CompactedError, ForeignObjects, Journal, JournalError, Record, Storage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.storage import StoredRow

TABLES = ("apps/things", "things")
# Keys that are prefixes of one another, and the last character that there is.
KEYS = ("a", "a/b", "a/b\0", "a/c", "a0/b", "ab/c", "b/\U0010ffff", "b/a", "b/b")
PREFIXES = ("", "a/", "a0/", "b/", "c/")
tables = st.sampled_from(TABLES)
keys = st.sampled_from(KEYS)


class Fact(NamedTuple):
    """One write, as a reader of the records sees it."""

    revision: int
    table: str
    key: str
    value: bytes
    is_deleted: bool


class Model:
    """The whole truth, in a list."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.revision = 1
        self.compacted = 0

    def write(self, table: str, key: str, value: bytes, *, is_deleted: bool) -> None:
        self.revision += 1
        self.facts.append(Fact(self.revision, table, key, value, is_deleted))

    def compact(self, revision: int) -> None:
        self.compacted = max(self.compacted, min(revision, self.revision))

    def last(self, table: str, key: str, revision: int) -> Fact | None:
        """The last write of a key at or before a revision."""
        found = [fact for fact in self.facts if fact.revision <= revision and (fact.table, fact.key) == (table, key)]
        return found[-1] if found else None

    def at(self, table: str, key: str, revision: int) -> Fact | None:
        fact = self.last(table, key, revision)
        return None if fact is None or fact.is_deleted else fact

    def scan(self, table: str, prefix: str, revision: int, after: str) -> list[Fact]:
        wanted = sorted(key for key in KEYS if key.startswith(prefix) and key >= after)
        return [fact for key in wanted if (fact := self.at(table, key, revision)) is not None]

    def since(self, table: str, revision: int) -> list[Fact]:
        return [fact for fact in self.facts if fact.table == table and fact.revision > revision]


def seen(table: str, record: Record | None) -> Fact | None:
    return None if record is None else Fact(record.revision, table, record.key, record.value, record.is_deleted)


class StorageMachine(RuleBasedStateMachine):
    """Does the same to a storage and to the model, and compares all that can be read."""

    written = Bundle("written")

    def make(self, window: int) -> Storage:
        return Storage(window=window)

    @initialize(window=st.sampled_from([0, 1, 3, 10_000]))
    def begin(self, window: int) -> None:
        self.window = window
        self.storage = self.make(window)
        self.model = Model()
        self.notified: list[int] = []
        self.listen()

    def listen(self) -> None:
        for table in TABLES:
            self.storage.table(table).listeners[lambda: self.notified.append(self.storage.revision)] = None

    @rule(target=written, table=tables, key=keys, value=st.binary(max_size=3), is_deleted=st.booleans())
    def write(self, table: str, key: str, value: bytes, is_deleted: bool) -> int:
        self.notified.clear()
        assert self.storage.next_revision == self.model.revision + 1
        record = self.storage.write(table, key, value, is_deleted=is_deleted)

        before = self.model.at(table, key, self.model.revision)
        self.model.write(table, key, value, is_deleted=is_deleted)
        assert seen(table, record) == self.model.facts[-1]
        assert seen(table, record.before) == before or self.window == 0
        assert self.notified == [record.revision]
        if self.model.revision - self.model.compacted > 2 * self.window:
            self.model.compact(self.model.revision - self.window)
        return record.revision

    @rule(revision=written)
    def compact(self, revision: int) -> None:
        self.model.compact(revision)
        assert self.storage.compact(revision) == self.model.compacted

    @rule()
    def compact_everything(self) -> None:
        self.model.compact(self.model.revision)
        assert self.storage.compact() == self.model.compacted

    @rule(table=tables, prefix=st.sampled_from(PREFIXES), after=keys | st.just(""), back=st.integers(0, 12))
    def scan(self, table: str, prefix: str, after: str, back: int) -> None:
        revision = max(self.model.compacted, self.model.revision - back)
        found = [seen(table, each) for each in self.storage.table(table).scan(prefix, revision, after=after)]
        assert found == self.model.scan(table, prefix, revision, after)

    @rule(table=tables, key=keys, back=st.integers(0, 12))
    def look_back(self, table: str, key: str, back: int) -> None:
        revision = max(self.model.compacted, self.model.revision - back)
        found = self.storage.table(table).scan(key, revision)
        record = next((each for each in found if each.key == key), None)
        assert seen(table, record) == self.model.at(table, key, revision)

    @rule(table=tables, back=st.integers(0, 12))
    def read_on(self, table: str, back: int) -> None:
        """The records for a watch: every write since, each with the state before it."""
        revision = max(self.model.compacted, self.model.revision - back)
        records = self.storage.table(table).since(revision)
        assert [seen(table, each) for each in records] == self.model.since(table, revision)
        for record in records:
            earlier = self.model.at(table, record.key, record.revision - 1)
            assert seen(table, record.before) == earlier

    @rule(revision=written)
    def read_a_compacted_revision(self, revision: int) -> None:
        if revision >= self.model.compacted:
            self.storage.check_readable(revision)
            return
        with pytest.raises(CompactedError) as error:
            self.storage.check_readable(revision)
        assert (error.value.revision, error.value.oldest) == (revision, self.model.compacted)

    @invariant()
    def the_present_is_right(self) -> None:
        if not hasattr(self, "storage"):
            return
        assert (self.storage.revision, self.storage.compacted) == (self.model.revision, self.model.compacted)
        for table in TABLES:
            present = [self.model.at(table, key, self.model.revision) for key in KEYS]
            assert [seen(table, self.storage.table(table).get(key)) for key in KEYS] == present
            found = self.storage.table(table).scan("", self.storage.revision)
            assert sum(1 for _ in found) == sum(fact is not None for fact in present)

    @invariant()
    def nothing_is_remembered_from_before_the_compaction(self) -> None:
        if not hasattr(self, "storage"):
            return
        for name in TABLES:
            table = self.storage.table(name)
            assert all(record.revision > self.model.compacted for record in table.log)
            for key in KEYS:
                self.check_chain(name, key)

    def check_chain(self, table: str, key: str) -> None:
        """The states of a key go back to the one that was true at the compaction, and no further."""
        record = self.storage.table(table).last(key)
        if record is not None and record.is_deleted:
            assert record.revision > self.model.compacted
        while record is not None:
            earlier = record.previous
            if record.revision <= self.model.compacted:
                assert earlier is None
            elif earlier is not None:
                assert seen(table, earlier) == self.model.last(table, key, record.revision - 1)
            record = earlier


TestStorage = StorageMachine.TestCase
TestStorage.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def test_an_empty_storage_starts_above_revision_zero_because_zero_means_any() -> None:
    storage = Storage()
    assert (storage.revision, storage.compacted, storage.next_revision) == (1, 0, 2)


def test_a_revision_numbers_the_writes_of_all_tables() -> None:
    storage = Storage()
    assert [storage.write(name, "a", b"").revision for name in ("x", "y", "x")] == [2, 3, 4]


def test_a_table_without_writes_is_empty_and_is_kept() -> None:
    storage = Storage()
    assert list(storage.table("x").scan("", 1)) == []
    assert storage.table("x") is storage.table("x")
    assert [name for name, _ in storage.tables()] == ["x"]


def test_a_key_may_continue_its_prefix_with_the_last_unicode_character() -> None:
    storage = Storage()
    storage.write("roles", "a/\U0010ffff\U0010ffff", b"")
    storage.write("roles", "b/x", b"")
    assert [record.key for record in storage.table("roles").scan("a/", 3)] == ["a/\U0010ffff\U0010ffff"]


def test_a_scan_is_a_snapshot_despite_concurrent_writes() -> None:
    storage = Storage()
    for key in ("a", "b", "c"):
        storage.write("x", key, b"old")
    scanning = storage.table("x").scan("", storage.revision)
    first = next(scanning)
    storage.write("x", "b", b"new")
    storage.write("x", "c", b"", is_deleted=True)
    storage.write("x", "bb", b"new")
    assert [(each.key, each.value) for each in (first, *scanning)] == [
        ("a", b"old"),
        ("b", b"old"),
        ("c", b"old"),
    ]


def test_a_compaction_into_the_future_stops_at_the_present() -> None:
    storage = Storage()
    storage.write("x", "a", b"")
    assert storage.compact(1_000) == 2
    assert storage.compact(1) == 2
    storage.check_readable(2)


def test_history_is_bounded_in_bytes_and_current_records_stay() -> None:
    storage = Storage(window=10_000, most_bytes=1_000)
    storage.write("things", "large", b"x" * 5_000)  # the present is no history, however large
    assert storage.compacted == 0
    for number in range(20):
        storage.write("things", "a", bytes([number]) * 100)
        held = sum(len(record.value) for record in storage.table("things").log)
        assert held <= 5_000 + 1_000 + 100

    assert 1 < storage.compacted < storage.revision
    with pytest.raises(CompactedError):
        storage.check_readable(storage.compacted - 1)
    assert [record.value for record in storage.table("things").scan("", storage.revision)] == [
        bytes([19]) * 100,
        b"x" * 5_000,
    ]
    # About half of the limit is left, so that not every write compacts.
    assert 5 <= len(storage.table("things").log) <= 11


def test_deletions_count_as_history() -> None:
    storage = Storage(window=10_000, most_bytes=1_000)
    for number in range(50):
        storage.write("things", str(number), b"x" * 100)
        storage.write("things", str(number), b"x" * 100, is_deleted=True)

    assert len(storage.table("things").log) <= 12


def test_one_state_that_is_larger_than_the_history_limit_is_compacted_at_once() -> None:
    storage = Storage(most_bytes=10)
    storage.write("things", "a", b"x" * 100)
    storage.write("things", "a", b"y" * 100)

    assert storage.compacted == storage.revision == 3
    assert [record.value for record in storage.table("things").scan("", 3)] == [b"y" * 100]


def test_a_listener_may_unregister_while_it_is_notified() -> None:
    storage = Storage()
    table = storage.table("x")
    calls: list[int] = []

    def once() -> None:
        calls.append(storage.revision)
        table.listeners.pop(once, None)

    table.listeners[once] = None
    storage.write("x", "a", b"")
    storage.write("x", "a", b"")
    assert calls == [2]


class BrokenJournal:
    """A journal on a disk that is full, or not."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, bool, bytes]] = []
        self.is_full = False
        self.can_compact = True
        self.is_closed = False

    def read(self) -> list[tuple[str, str, int, bool, bytes]]:
        if self.is_full:
            raise JournalError("unreadable")
        return self.rows

    def read_compacted(self) -> int:
        return 0

    def read_foreign(self) -> ForeignObjects:
        return ForeignObjects()

    def append(self, table: str, record: Record) -> None:
        if self.is_full:
            raise JournalError("disk full")
        self.rows.append((table, record.key, record.revision, record.is_deleted, record.value))

    def replace(self, rows: Iterable[StoredRow], revision: int, foreign: ForeignObjects) -> None:
        raise JournalError(f"cannot be replaced at {revision} by {rows} with {foreign}")

    def check_writable(self) -> None:
        if self.is_full:
            raise JournalError("disk full")

    def compact(self, revision: int) -> None:
        if not self.can_compact:
            raise JournalError("disk full")
        self.rows = [row for row in self.rows if row[2] > revision]

    def close(self) -> None:
        self.is_closed = True


def test_a_write_that_cannot_be_stored_is_rolled_back() -> None:
    journal: Journal
    journal = broken = BrokenJournal()
    storage = Storage(journal)
    notified: list[int] = []
    storage.write("x", "a", b"old")
    storage.table("x").listeners[lambda: notified.append(1)] = None
    broken.is_full = True

    with pytest.raises(JournalError, match="disk full") as error:
        storage.write("x", "a", b"new")

    assert (error.value.code, error.value.status()["message"]) == (500, "disk full")
    present = storage.table("x").get("a")
    assert present is not None
    assert (storage.revision, present.value, notified) == (2, b"old", [])
    broken.is_full = False
    assert storage.write("x", "a", b"new").revision == 3


def test_a_storage_is_writable_again_when_its_journal_is() -> None:
    broken = BrokenJournal()
    storage = Storage(broken)
    storage.check_writable()
    broken.is_full = True
    with pytest.raises(JournalError):
        storage.write("x", "a", b"new")

    with pytest.raises(JournalError, match="disk full"):
        storage.check_writable()

    broken.is_full = False
    storage.check_writable()


def test_a_compaction_that_cannot_be_stored_does_not_fail_the_write_before_it_and_is_retried() -> None:
    journal = BrokenJournal()
    journal.can_compact = False
    storage = Storage(journal, window=1)
    for _ in range(4):
        storage.write("x", "a", b"")
    assert (storage.revision, storage.compacted, len(storage.table("x").log)) == (5, 0, 4)

    with pytest.raises(JournalError):
        storage.compact()
    assert (storage.compacted, len(storage.table("x").log)) == (0, 4)

    journal.can_compact = True
    storage.write("x", "a", b"")
    assert (storage.revision, storage.compacted, len(storage.table("x").log)) == (6, 5, 1)


def test_a_journal_that_cannot_be_read_is_closed() -> None:
    journal = BrokenJournal()
    journal.is_full = True
    with pytest.raises(JournalError):
        Storage(journal)
    assert journal.is_closed
