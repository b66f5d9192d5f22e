"""A slow handler and a model that gets every notification end with the same state."""

from __future__ import annotations

from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.handler_buffer import HandlerBuffer, Notification, NotificationType

KEYS = ["a", "b", "c", "d"]


class SlowHandlers(RuleBasedStateMachine):
    """Objects change, and a handler takes notifications when it pleases."""

    @initialize(limit=st.integers(0, 8), known=st.sets(st.sampled_from(KEYS)))
    def begin(self, limit: int, known: set[str]) -> None:
        self.numbers = count(1)
        self.limit = limit
        self.buffer = HandlerBuffer[int](limit)
        self.store: dict[str, int] = {}
        self.known: dict[str, int] = {}
        """The state of the handler, replayed from its notifications."""
        self.states: dict[str, list[int | None]] = {key: [None] for key in KEYS}
        """All that each key ever was; None for not there. Numbers are never used twice."""
        self.pushed: list[Notification[int]] = []
        self.taken: list[Notification[int]] = []
        self.marks: list[dict[str, int]] = []
        """For each pending marker, the number of states of each key at the time of its push."""
        self.has_folded = False
        for key in sorted(known):
            self.change(key, next(self.numbers), is_initial=True)
        self.mark()

    def push(self, *notifications: Notification[int]) -> None:
        self.pushed.extend(notifications)
        if len(notifications) == 1:
            self.buffer.push(*notifications)
        else:
            self.buffer.extend(notifications)
        self.has_folded |= self.buffer.is_folding or self.buffer.folded > 0

    def change(self, key: str, new: int | None, *, is_initial: bool = False) -> None:
        old = self.store.pop(key, None)
        if new is not None:
            self.store[key] = new
        kind = {
            (True, False): NotificationType.ADD,
            (False, False): NotificationType.UPDATE,
            (False, True): NotificationType.DELETE,
        }[old is None, new is None]
        self.states[key].append(new)
        self.push(Notification(kind, key, old, new, is_initial))

    @rule(key=st.sampled_from(KEYS))
    def an_object_comes_or_changes(self, key: str) -> None:
        self.change(key, next(self.numbers))

    @precondition(lambda self: self.store)
    @rule(data=st.data())
    def an_object_goes(self, data: st.DataObject) -> None:
        self.change(data.draw(st.sampled_from(sorted(self.store))), None)

    @precondition(lambda self: self.store)
    @rule()
    def everything_is_resynced(self) -> None:
        self.push(*(Notification(NotificationType.UPDATE, key, value, value) for key, value in self.store.items()))

    @rule()
    def mark(self) -> None:
        self.marks.append({key: len(states) for key, states in self.states.items()})
        self.push(Notification(NotificationType.SYNC_MARKER))

    @rule(limit=st.integers(0, 6))
    def the_handler_takes_some(self, limit: int) -> None:
        taken = self.buffer.take(limit)
        assert len(taken) <= limit
        for notification in taken:
            self.handle(notification)

    def handle(self, notification: Notification[int]) -> None:
        self.taken.append(notification)
        match notification.type:
            case NotificationType.ADD:
                assert notification.key not in self.known
                assert notification.new is not None
                assert notification.old is None
                self.known[notification.key] = notification.new
            case NotificationType.UPDATE:
                # The old state is the last state delivered to this handler.
                assert notification.old == self.known[notification.key]
                assert notification.new is not None
                assert notification.new >= self.known[notification.key]
                self.known[notification.key] = notification.new
            case NotificationType.DELETE:
                assert notification.old is not None
                assert notification.new is None
                # The last state may not have been delivered to this handler, but is never older.
                assert notification.old >= self.known.pop(notification.key)
            case NotificationType.SYNC_MARKER:
                self.check_mark(self.marks.pop(0))

    def check_mark(self, then: dict[str, int]) -> None:
        """For each key, the handler has the state at the marker, or a later one."""
        for key, states in self.states.items():
            assert self.known.get(key) in states[then[key] - 1 :]

    @invariant()
    def only_folded_notifications_are_lost(self) -> None:
        assert len(self.pushed) == len(self.taken) + len(self.buffer) + self.buffer.folded

    @invariant()
    def below_the_limit_everything_is_dispatched_in_order(self) -> None:
        if not self.has_folded:
            assert self.taken == self.pushed[: len(self.taken)]

    @invariant()
    def memory_is_bounded(self) -> None:
        if self.buffer.is_folding:
            assert len(self.buffer) <= 2 * len(self.known) + len(self.store) + len(self.marks)
        else:
            assert len(self.buffer) <= self.limit

    @invariant()
    def initial_adds_come_before_the_first_mark(self) -> None:
        kinds = [notification.type for notification in self.taken]
        if NotificationType.SYNC_MARKER in kinds:
            assert not any(
                notification.is_initial for notification in self.taken[kinds.index(NotificationType.SYNC_MARKER) :]
            )

    @invariant()
    def deltas_of_a_key_are_popped_in_order(self) -> None:
        for key in KEYS:
            received = [
                notification.new
                for notification in self.taken
                if notification.key == key and notification.new is not None
            ]
            assert received == sorted(received)

    def teardown(self) -> None:
        """Once the slow handler catches up, it has the state of the other."""
        while len(self.buffer):
            for notification in self.buffer.take(3):
                self.handle(notification)
        assert self.known == self.store
        assert self.marks == []
        assert not self.buffer.is_folding


SlowHandlers.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
test_a_slow_handler_ends_up_knowing_the_same = SlowHandlers.TestCase
