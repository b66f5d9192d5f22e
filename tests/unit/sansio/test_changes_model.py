"""The ordered queue beside a plain list of everything that was added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.changes import (
    Bookmark,
    Change,
    ChangeQueue,
    Delta,
    DeltaType,
    ReplacedAll,
    SyncAll,
)
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Sequence

SCOPES = ("left", "right")
KEYS = [f"{scope}/{name}" for scope in SCOPES for name in "abc"]
keys = st.sampled_from(KEYS)
scopes = st.sampled_from(SCOPES)


class BrokenProcessError(Exception):
    """The error of a failing process function."""


def apply(changes: Sequence[Change[int]], store: dict[str, int]) -> None:
    """A consumer of the queue: a store in a few lines."""
    for change in changes:
        if isinstance(change, ReplacedAll):
            for key in [key for key in store if key.startswith(f"{change.scope}/")]:
                if key not in change.items and key not in change.kept:
                    del store[key]
            store.update(change.items)
        elif isinstance(change, Delta):
            if change.type is DeltaType.DELETED:
                store.pop(change.key, None)
            else:
                assert change.value is not None
                store[change.key] = change.value


class Changes(RuleBasedStateMachine):
    """Objects come, change and go; some of it is seen, some only in the next list."""

    @initialize(batch=st.integers(1, 5))
    def begin(self, batch: int) -> None:
        self.batch = batch
        self.queue = ChangeQueue[int](scopes=SCOPES, batch=batch)
        self.version = 0
        self.there: dict[str, int] = {}
        """The state of the server."""
        self.mirrored: dict[str, int] = {}
        """The state after every change that was added."""
        self.put: list[Change[int]] = []
        self.popped: list[Change[int]] = []
        self.store: dict[str, int] = {}
        self.is_closed = False

    def next_version(self) -> int:
        self.version += 1
        return self.version

    def was_put(self, change: Change[int]) -> None:
        self.put.append(change)
        apply([change], self.mirrored)

    @precondition(lambda self: not self.is_closed)
    @rule(key=keys, is_removal=st.booleans())
    def an_object_changes(self, key: str, is_removal: bool) -> None:
        value, version = self.next_version(), str(self.version)
        if is_removal:
            self.there.pop(key, None)
            self.queue.delete(key, value, version)
            self.was_put(Delta(DeltaType.DELETED, key, value, version))
        elif key in self.there:
            self.there[key] = value
            self.queue.update(key, value, version)
            self.was_put(Delta(DeltaType.UPDATED, key, value, version))
        else:
            self.there[key] = value
            self.queue.add(key, value, version)
            self.was_put(Delta(DeltaType.ADDED, key, value, version))

    @rule(key=keys, is_removal=st.booleans())
    def an_object_changes_unseen(self, key: str, is_removal: bool) -> None:
        if is_removal:
            self.there.pop(key, None)
        else:
            self.there[key] = self.next_version()

    @precondition(lambda self: not self.is_closed)
    @rule(scope=scopes, unreadable=st.frozensets(keys, max_size=2))
    def a_scope_is_listed(self, scope: str, unreadable: frozenset[str]) -> None:
        there = {key: value for key, value in self.there.items() if key.startswith(f"{scope}/")}
        kept = unreadable & there.keys()
        items = {key: value for key, value in there.items() if key not in kept}
        version = str(self.next_version())
        self.queue.replace(items, version, scope=scope, kept=kept)
        self.was_put(ReplacedAll(items, version, scope, kept))

    @precondition(lambda self: not self.is_closed)
    @rule()
    def a_resync_is_due(self) -> None:
        self.queue.resync()
        self.was_put(SyncAll())

    @precondition(lambda self: not self.is_closed)
    @rule(scope=scopes)
    def a_bookmark_comes(self, scope: str) -> None:
        version = str(self.next_version())
        self.queue.bookmark(version, scope=scope)
        self.was_put(Bookmark(version, scope))

    @rule(is_broken=st.booleans())
    def something_is_popped(self, is_broken: bool) -> None:
        waiting = self.put[len(self.popped) :]
        if self.is_closed and not waiting:
            with pytest.raises(ClosedError):
                self.queue.pop(self.process)
        elif is_broken and waiting:
            with pytest.raises(BrokenProcessError):
                self.queue.pop(self.process_and_fail)
        else:
            assert self.queue.pop(self.process) is bool(waiting)

    @precondition(lambda self: len(self.put) > 20)
    @rule()
    def it_is_closed(self) -> None:
        self.queue.close()
        self.is_closed = True

    def process_and_fail(self, changes: Sequence[Change[int]], is_initial: bool) -> None:
        self.process(changes, is_initial)
        raise BrokenProcessError

    def process(self, changes: Sequence[Change[int]], is_initial: bool) -> None:
        waiting = self.put[len(self.popped) :]
        assert list(changes) == waiting[: self.expected_length(waiting)]
        assert is_initial is self.is_initial(waiting[0])
        assert self.queue.has_synced is self.should_be_synced()
        apply(changes, self.store)
        self.popped += changes

    def expected_length(self, waiting: list[Change[int]]) -> int:
        """Of all lengths that a batch may have, the greatest."""
        return max(
            length for length in range(1, self.batch + 1) if self.may_be_a_batch(waiting[:length], length)
        )

    def may_be_a_batch(self, changes: list[Change[int]], length: int) -> bool:
        deltas = [change for change in changes if isinstance(change, Delta)]
        is_uniform = len(deltas) == length and len({delta.key for delta in deltas}) == length
        return is_uniform or length == 1

    def is_initial(self, change: Change[int]) -> bool:
        if not isinstance(change, ReplacedAll) or self.begins_with_an_event():
            return False
        return change.scope not in self.scopes_popped()

    def begins_with_an_event(self) -> bool:
        telling = (change for change in self.put if isinstance(change, Delta | ReplacedAll))
        return isinstance(next(telling, None), Delta)

    def scopes_popped(self) -> set[str]:
        return {change.scope for change in self.popped if isinstance(change, ReplacedAll)}

    def should_be_synced(self) -> bool:
        return self.begins_with_an_event() or self.scopes_popped() == set(SCOPES)

    @invariant()
    def nothing_is_lost_nothing_is_invented_and_the_order_is_kept(self) -> None:
        assert self.popped == self.put[: len(self.popped)]
        assert len(self.queue) == len(self.put) - len(self.popped)

    @invariant()
    def it_has_synced_when_it_should(self) -> None:
        assert self.queue.has_synced is self.should_be_synced()

    def teardown(self) -> None:
        """Once all is popped, the store has every change; once all is listed, it equals the server."""
        if not hasattr(self, "queue"):
            return
        if not self.is_closed:
            for scope in SCOPES:
                self.a_scope_is_listed(scope, frozenset())
            assert self.mirrored == self.there
        self.queue.close()
        while len(self.queue):
            self.queue.pop(self.process)
        assert self.popped == self.put
        assert self.store == self.mirrored


Changes.TestCase.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
test_the_ordered_queue_hands_over_what_it_was_given = Changes.TestCase
