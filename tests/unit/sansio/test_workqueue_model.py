"""The state of a work queue compared with a model of plain lists."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.workqueue import WorkQueueState

KEYS = st.sampled_from("abcdefgh")
PRIORITIES = st.sampled_from([0, 0, 0, -100, -100, 5])
EXAMPLES = int(os.environ.get("MASTHEAD_QUEUE_EXAMPLES", "80"))
DELAYS = st.integers(-1, 6).map(float)


@dataclass(frozen=True)
class Waiting:
    """A request for a key that is not handed out yet."""

    key: str
    priority: int
    time: float
    """When it was added, or of a delay, when it ends."""


class Model:
    """The documented rules, without any derived state."""

    def __init__(self, oldest_every: int) -> None:
        self.every = oldest_every
        self.turn = 0
        self.ready: list[Waiting] = []
        self.dirty: list[Waiting] = []
        self.delayed: list[Waiting] = []
        self.processing: dict[str, int] = {}
        self.is_closed = False

    def find(self, among: list[Waiting], key: str) -> Waiting | None:
        return next((entry for entry in among if entry.key == key), None)

    def add(self, key: str, now: float, priority: int) -> None:
        if self.is_closed:
            return
        if delay := self.find(self.delayed, key):
            self.delayed.remove(delay)
            priority = max(priority, delay.priority)
        if key in self.processing:
            self.merge(self.dirty, Waiting(key, priority, now))
        else:
            self.merge(self.ready, Waiting(key, priority, now))

    def merge(self, among: list[Waiting], new: Waiting) -> None:
        old = self.find(among, new.key)
        if old is None:
            among.append(new)
        elif new.priority > old.priority:
            among.remove(old)
            among.append(replace(old, priority=new.priority))

    def add_after(self, key: str, delay: float, now: float, priority: int) -> None:
        if self.is_closed:
            return
        if delay <= 0 or self.find(self.ready, key) or self.find(self.dirty, key):
            self.add(key, now, priority)
            return
        new, old = Waiting(key, priority, now + delay), self.find(self.delayed, key)
        if old is None:
            self.delayed.append(new)
            return
        priority, index = max(priority, old.priority), self.delayed.index(old)
        if old.time <= new.time:
            self.delayed[index] = replace(old, priority=priority)
        else:
            del self.delayed[index]
            self.delayed.append(replace(new, priority=priority))

    def promote(self, now: float) -> None:
        for entry in sorted(self.delayed, key=lambda delay: delay.time):  # stable: then as they were added
            if entry.time <= now:
                self.add(entry.key, now, entry.priority)

    def take(self, now: float) -> str | None:
        self.promote(now)
        if not self.ready:
            return None
        priorities = {entry.priority for entry in self.ready}
        first = {priority: next(entry for entry in self.ready if entry.priority == priority) for priority in priorities}
        taken = first[max(priorities)]
        if len(priorities) > 1:
            self.turn += 1
            if self.turn == self.every:
                self.turn = 0
                taken = min(first.values(), key=lambda each: (each.time, each.priority))
        self.ready.remove(taken)
        self.processing[taken.key] = taken.priority
        return taken.key

    def done(self, key: str) -> None:
        del self.processing[key]
        if dirty := self.find(self.dirty, key):
            self.dirty.remove(dirty)
            self.ready.append(dirty)

    def discard(self, key: str) -> bool:
        for among in (self.ready, self.dirty, self.delayed):
            if found := self.find(among, key):
                among.remove(found)
                return True
        return False

    def clear(self) -> int:
        dropped = len(self.ready) + len(self.dirty) + len(self.delayed)
        for among in (self.ready, self.dirty, self.delayed):
            among.clear()
        return dropped

    def close(self) -> None:
        self.is_closed = True
        self.delayed.clear()


class Queues(RuleBasedStateMachine):
    @initialize(every=st.integers(2, 4))
    def begin(self, every: int) -> None:
        self.now = 0.0
        self.model = Model(every)
        self.state = WorkQueueState[str](every)

    @rule(step=st.integers(0, 3))
    def advance(self, step: int) -> None:
        self.now += step

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        ready = len(self.model.ready)
        self.model.add(key, self.now, priority)

        assert self.state.add(key, self.now, priority) == (len(self.model.ready) > ready)

    @rule(key=KEYS, delay=DELAYS, priority=PRIORITIES)
    def add_after(self, key: str, delay: float, priority: int) -> None:
        ready, due = len(self.model.ready), self.next_time()
        self.model.add_after(key, delay, self.now, priority)
        may_wake = self.state.add_after(key, delay, self.now, priority)

        next_due = self.next_time()
        if len(self.model.ready) > ready or (next_due is not None and (due is None or next_due < due)):
            assert may_wake

    @rule()
    def take(self) -> None:
        assert self.state.take(self.now) == self.model.take(self.now)

    @rule()
    def promote(self) -> None:
        ready = len(self.model.ready)
        self.model.promote(self.now)

        assert self.state.promote(self.now) == len(self.model.ready) - ready

    @precondition(lambda self: self.model.processing)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.processing)))
        ready = len(self.model.ready)
        self.model.done(key)

        assert self.state.done(key) == (len(self.model.ready) > ready)

    @rule(key=KEYS)
    def discard(self, key: str) -> None:
        assert self.state.discard(key) == self.model.discard(key)

    @precondition(lambda self: self.now > 10)
    @rule()
    def clear(self) -> None:
        assert self.state.clear() == self.model.clear()

    @rule(offset=st.sampled_from([-64.0, 64.0]))
    def rebase(self, offset: float) -> None:
        """Another clock changes nothing: the model keeps the old one."""
        self.state.rebase(offset)
        self.state.rebase(-offset)

    @precondition(lambda self: self.now > 20)
    @rule()
    def close(self) -> None:
        self.model.close()
        self.state.close()

    def next_time(self) -> float | None:
        return min((entry.time for entry in self.model.delayed), default=None)

    @invariant()
    def agrees(self) -> None:
        state, model = self.state, self.model
        assert len(state) == len(model.ready)
        assert state.waiting == len(model.ready) + len(model.dirty)
        assert state.delayed == len(model.delayed)
        assert set(state.in_flight) == set(model.processing)
        assert {key: state.priority_of(key) for key in model.processing} == model.processing
        assert state.next_time() == self.next_time()
        assert state.is_idle == (not model.ready and not model.processing)
        assert state.has_more == bool(model.ready or model.delayed)
        assert state.is_exhausted == (model.is_closed and not model.ready and not model.dirty)
        counts = [entry.priority for entry in model.ready]
        assert state.count_by_priority() == {count: counts.count(count) for count in counts}


TestQueues = Queues.TestCase
TestQueues.settings = settings(max_examples=EXAMPLES, stateful_step_count=50, derandomize=True, deadline=None)


class Traffic:
    """A queue under steady traffic, which counts how many other keys overtake each key."""

    def __init__(self, every: int) -> None:
        self.state = WorkQueueState[int](every)
        self.every = every
        self.now = 0.0
        self.limits: dict[int, int] = {}

    def add(self, key: int, priority: int) -> None:
        self.now += 1
        before = self.state.count_by_priority()
        self.state.add(key, self.now, priority)
        if self.state.count_by_priority() != before:  # it is new, or has a higher priority now
            self.limits[key] = self.every * self.state.waiting  # itself included

    def take(self) -> None:
        key = self.state.take(self.now)
        if key is None:
            return
        self.state.done(key)
        del self.limits[key]
        for other in self.limits:
            self.limits[other] -= 1
            assert self.limits[other] > 0, f"{other} is starved"


@given(
    st.integers(2, 9),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from([-100, -100, 0, 0, 0, 1, 7])), max_size=300),
    st.integers(1, 4),
)
@settings(max_examples=2 * EXAMPLES)
def test_no_key_waits_longer_than_promised_however_many_of_higher_priority_are_added(
    every: int, adds: list[tuple[int, int]], adds_per_take: int
) -> None:
    traffic = Traffic(every)
    for number, (key, priority) in enumerate(adds):
        traffic.add(key, priority)
        if number % adds_per_take == 0:
            traffic.take()
    while traffic.limits:
        traffic.take()


def test_initial_objects_are_all_processed_under_changes_that_never_end() -> None:
    traffic = Traffic(8)
    for number in range(200):
        traffic.add(number, -100)
    changes = takes = 0
    while any(key < 200 for key in traffic.limits):
        changes += 1
        traffic.add(200 + changes % 50, 0)
        traffic.take()
        takes += 1

    assert takes <= 8 * 201
