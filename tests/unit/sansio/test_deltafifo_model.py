"""The queue that groups by key, compared with a plain list of all changes."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.changes import Change, Delta, DeltaType
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Sequence

ADDED, UPDATED, DELETED, REPLACED, SYNC = DeltaType
keys = st.sampled_from("abcdef")


class BrokenProcessError(Exception):
    """The error of a failing process function."""


def apply(deltas: Sequence[Delta[int]], store: dict[str, int]) -> None:
    """A consumer of the queue: a store in a few lines."""
    for delta in deltas:
        if delta.type is DELETED:
            store.pop(delta.key, None)
        else:
            assert delta.value is not None
            store[delta.key] = delta.value


def collapsed(deltas: list[Delta[int]]) -> list[Delta[int]]:
    """The best known deletion of each run; of equals, the last."""
    result: list[Delta[int]] = []
    for is_deletion, run in groupby(deltas, lambda delta: delta.type is DELETED):
        each = list(run)
        if is_deletion:
            each = [max(reversed(each), key=lambda delta: (delta.final_state_known, delta.value is not None))]
        result += each
    return result


class Gathering(RuleBasedStateMachine):
    """Objects come, change and go; some of it is seen, some only in the next list."""

    @initialize(seeded=st.sets(keys))
    def begin(self, seeded: set[str]) -> None:
        self.version = 0
        self.store: dict[str, int] = dict.fromkeys(sorted(seeded), 0)
        self.queue = DeltaFIFO[int](self.store)
        self.there = dict(self.store)
        """The state of the server."""
        self.mirrored = dict(self.store)
        """The state after every delta that was added."""
        self.waiting: list[Delta[int]] = []
        """Everything that was added and not popped."""
        self.first = ""
        """What came first, an event or a list."""
        self.awaited: set[str] = set()
        """The keys that were queued by the first list, and have not been popped since."""
        self.is_closed = False

    def next_version(self) -> int:
        self.version += 1
        return self.version

    def was_put(self, delta: Delta[int]) -> None:
        self.waiting.append(delta)
        apply([delta], self.mirrored)

    def queued(self) -> list[str]:
        return list(dict.fromkeys(delta.key for delta in self.waiting))

    @precondition(lambda self: not self.is_closed)
    @rule(key=keys)
    def an_object_comes_or_changes(self, key: str) -> None:
        self.first = self.first or "event"
        value, version = self.next_version(), str(self.version)
        if key in self.there:
            self.queue.update(key, value, version)
            self.was_put(Delta(UPDATED, key, value, version))
        else:
            self.queue.add(key, value, version)
            self.was_put(Delta(ADDED, key, value, version))
        self.there[key] = value

    @precondition(lambda self: not self.is_closed)
    @rule(key=keys, is_known=st.booleans(), has_value=st.booleans())
    def an_object_goes(self, key: str, is_known: bool, has_value: bool) -> None:
        """Delete a key, which may be missing or deleted already."""
        self.first = self.first or "event"
        self.there.pop(key, None)
        number = self.next_version()
        value = number if has_value else None
        self.queue.delete(key, value, str(number), final_state_known=is_known)
        if key in self.queued() or key in self.store:
            self.was_put(Delta(DELETED, key, value, str(number), is_known))

    @rule(key=keys, is_removal=st.booleans())
    def an_object_changes_unseen(self, key: str, is_removal: bool) -> None:
        if is_removal:
            self.there.pop(key, None)
        else:
            self.there[key] = self.next_version()

    @precondition(lambda self: not self.is_closed)
    @rule(unreadable=st.frozensets(keys, max_size=2))
    def everything_is_listed(self, unreadable: frozenset[str]) -> None:
        kept = unreadable & self.there.keys()
        items = {key: value for key, value in self.there.items() if key not in kept}
        version = str(self.next_version())
        self.queue.replace(items, version, kept=kept)
        before = list(self.waiting)
        vanished = [key for key in dict.fromkeys([*self.queued(), *self.store]) if key not in items and key not in kept]
        for key, value in items.items():
            self.was_put(Delta(REPLACED, key, value, version))
        for key in vanished:
            # Consecutive deletions are merged, so that the result has the last state.
            deltas = collapsed([delta for delta in before if delta.key == key])
            last = deltas[-1].value if deltas else self.store[key]
            self.was_put(Delta(DELETED, key, last, version, final_state_known=False))
        if not self.first:
            self.first = "list"
            self.awaited = set(self.queued())

    @precondition(lambda self: not self.is_closed)
    @rule()
    def a_resync_is_due(self) -> None:
        queued = self.queued()
        self.queue.resync()
        for key, value in self.store.items():
            if key not in queued:
                self.waiting.append(Delta(SYNC, key, value))

    @precondition(lambda self: not self.is_closed)
    @rule()
    def a_bookmark_comes(self) -> None:
        self.queue.bookmark(str(self.next_version()))

    @rule(is_broken=st.booleans())
    def something_is_popped(self, is_broken: bool) -> None:
        queued = self.queued()
        if self.is_closed and not queued:
            with pytest.raises(ClosedError):
                self.queue.pop(self.process)
        elif is_broken and queued:
            with pytest.raises(BrokenProcessError):
                self.queue.pop(self.process_and_fail)
        else:
            assert self.queue.pop(self.process) is bool(queued)
        if queued:
            self.awaited.discard(queued[0])

    @precondition(lambda self: self.version > 20)
    @rule()
    def it_is_closed(self) -> None:
        self.queue.close()
        self.is_closed = True

    def process_and_fail(self, changes: Sequence[Change[int]], is_initial: bool) -> None:
        self.process(changes, is_initial)
        raise BrokenProcessError

    def process(self, changes: Sequence[Change[int]], is_initial: bool) -> None:
        key = self.queued()[0]
        deltas = [change for change in changes if isinstance(change, Delta)]
        assert deltas == list(changes)
        assert deltas == collapsed([delta for delta in self.waiting if delta.key == key])
        assert is_initial is (not self.should_be_synced())
        assert self.queue.has_synced is self.should_be_synced()
        self.waiting = [delta for delta in self.waiting if delta.key != key]
        apply(deltas, self.store)

    def should_be_synced(self) -> bool:
        return self.first == "event" or (self.first == "list" and not self.awaited)

    @invariant()
    def nothing_is_lost_and_nothing_is_invented(self) -> None:
        assert len(self.queue) == len(self.queued())

    @invariant()
    def the_store_knows_all_about_each_key_for_which_nothing_waits(self) -> None:
        queued = self.queued()
        for key in "abcdef":
            if key not in queued:
                assert self.store.get(key) == self.mirrored.get(key)

    @invariant()
    def it_has_synced_when_it_should(self) -> None:
        assert self.queue.has_synced is self.should_be_synced()

    def teardown(self) -> None:
        """Once all is popped, the store has every delta; once all is listed, it equals the server."""
        if not hasattr(self, "queue"):
            return
        if not self.is_closed:
            self.everything_is_listed(frozenset())
            assert self.mirrored == self.there
        while len(self.queue):
            self.something_is_popped(is_broken=False)
        assert self.store == self.mirrored


Gathering.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
test_a_queue_of_keys_tells_each_what_happened_to_it = Gathering.TestCase
