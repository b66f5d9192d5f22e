"""A handler that is slow, beside one that hears everything: both end up knowing the same."""

from __future__ import annotations

from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.buffer import HandlerBuffer, Notice, NoticeType

KEYS = ["a", "b", "c", "d"]


class SlowHandlers(RuleBasedStateMachine):
    """Objects change, and a handler takes notices when it pleases."""

    @initialize(limit=st.integers(0, 8), known=st.sets(st.sampled_from(KEYS)))
    def begin(self, limit: int, known: set[str]) -> None:
        self.numbers = count(1)
        self.limit = limit
        self.buffer = HandlerBuffer[int](limit)
        self.store: dict[str, int] = {}
        self.known: dict[str, int] = {}
        """What the handler knows: all that it took, replayed from nothing."""
        self.states: dict[str, list[int | None]] = {key: [None] for key in KEYS}
        """All that each key ever was; None for not there. Numbers are never used twice."""
        self.pushed: list[Notice[int]] = []
        self.taken: list[Notice[int]] = []
        self.marks: list[dict[str, int]] = []
        """For each mark that waits, how many states each key had gone through when it was pushed."""
        self.has_folded = False
        for key in sorted(known):
            self.change(key, next(self.numbers), is_initial=True)
        self.mark()

    def push(self, *notices: Notice[int]) -> None:
        self.pushed.extend(notices)
        if len(notices) == 1:
            self.buffer.push(*notices)
        else:
            self.buffer.extend(notices)
        self.has_folded |= self.buffer.is_folding or self.buffer.folded > 0

    def change(self, key: str, new: int | None, *, is_initial: bool = False) -> None:
        old = self.store.pop(key, None)
        if new is not None:
            self.store[key] = new
        kind = {
            (True, False): NoticeType.ADD,
            (False, False): NoticeType.UPDATE,
            (False, True): NoticeType.DELETE,
        }[old is None, new is None]
        self.states[key].append(new)
        self.push(Notice(kind, key, old, new, is_initial))

    @rule(key=st.sampled_from(KEYS))
    def an_object_comes_or_changes(self, key: str) -> None:
        self.change(key, next(self.numbers))

    @precondition(lambda self: self.store)
    @rule(data=st.data())
    def an_object_goes(self, data: st.DataObject) -> None:
        self.change(data.draw(st.sampled_from(sorted(self.store))), None)

    @precondition(lambda self: self.store)
    @rule()
    def everything_is_told_again(self) -> None:
        self.push(*(Notice(NoticeType.UPDATE, key, value, value) for key, value in self.store.items()))

    @rule()
    def mark(self) -> None:
        self.marks.append({key: len(states) for key, states in self.states.items()})
        self.push(Notice(NoticeType.MARK))

    @rule(limit=st.integers(0, 6))
    def the_handler_takes_some(self, limit: int) -> None:
        taken = self.buffer.take(limit)
        assert len(taken) <= limit
        for notice in taken:
            self.hear(notice)

    def hear(self, notice: Notice[int]) -> None:
        self.taken.append(notice)
        match notice.type:
            case NoticeType.ADD:
                assert notice.key not in self.known
                assert notice.new is not None
                assert notice.old is None
                self.known[notice.key] = notice.new
            case NoticeType.UPDATE:
                # What it was is exactly what this handler was told last.
                assert notice.old == self.known[notice.key]
                assert notice.new is not None
                assert notice.new >= self.known[notice.key]
                self.known[notice.key] = notice.new
            case NoticeType.DELETE:
                assert notice.old is not None
                assert notice.new is None
                # The last state may be one that this handler was not told, but never an older one.
                assert notice.old >= self.known.pop(notice.key)
            case NoticeType.MARK:
                self.check_mark(self.marks.pop(0))

    def check_mark(self, then: dict[str, int]) -> None:
        """Of each key, the handler knows what it was when the mark was pushed, or what it was later."""
        for key, states in self.states.items():
            assert self.known.get(key) in states[then[key] - 1 :]

    @invariant()
    def nothing_is_lost_but_what_was_folded_away(self) -> None:
        assert len(self.pushed) == len(self.taken) + len(self.buffer) + self.buffer.folded

    @invariant()
    def below_the_limit_everything_is_told_in_order(self) -> None:
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
        kinds = [notice.type for notice in self.taken]
        if NoticeType.MARK in kinds:
            assert not any(notice.is_initial for notice in self.taken[kinds.index(NoticeType.MARK) :])

    @invariant()
    def what_a_key_was_told_to_be_is_told_in_order(self) -> None:
        for key in KEYS:
            told = [notice.new for notice in self.taken if notice.key == key and notice.new is not None]
            assert told == sorted(told)

    def teardown(self) -> None:
        """Once the handler catches up, it knows what one knows who heard everything."""
        while len(self.buffer):
            for notice in self.buffer.take(3):
                self.hear(notice)
        assert self.known == self.store
        assert self.marks == []
        assert not self.buffer.is_folding


SlowHandlers.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
test_a_slow_handler_ends_up_knowing_the_same = SlowHandlers.TestCase
