"""The resync schedule compared with a model that counts quarters of a second."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from masthead._sansio.resync import ResyncSchedule

QUARTERS = 4
HANDLERS = st.sampled_from("abcd")
PERIODS = st.integers(0, 40)


def granted(requested: int, check: int) -> int:
    """The period granted to a handler, for a check period of the informer."""
    if requested == 0 or check == 0:
        return 0
    return max(requested, check)


class Clockwork:
    """The documented rules, in whole numbers, without derived state."""

    def __init__(self, default: int) -> None:
        self.default = max(default, QUARTERS) if default else 0
        self.requested: dict[str, int] = {}
        self.since: dict[str, int] = {}
        """When a handler was last due, or added, or all of them were started."""
        self.check = self.default
        self.looked: int | None = None

    def join(self, handler: str, requested: int | None, now: int) -> int:
        wanted = self.default if requested is None else requested
        if 0 < wanted < QUARTERS:
            wanted = QUARTERS
        if 0 < wanted < self.check and self.looked is None:
            self.check = wanted
        self.requested[handler] = wanted
        self.since[handler] = now
        return granted(wanted, self.check)

    def leave(self, handler: str) -> None:
        self.requested.pop(handler, None)

    def start(self, now: int) -> None:
        if self.looked is None and self.check:
            self.looked = now
            self.since = dict.fromkeys(self.since, now)

    def due(self, now: int) -> set[str]:
        if self.looked is None or now - self.looked < self.check:
            return set()
        self.looked = now
        due: set[str] = set()
        for handler, requested in self.requested.items():
            period = granted(requested, self.check)
            if period and now - self.since[handler] >= period:
                self.since[handler] = now
                due.add(handler)
        return due


class Schedules(RuleBasedStateMachine):
    @initialize(default=PERIODS)
    def begin(self, default: int) -> None:
        self.now = 0
        self.model = Clockwork(default)
        self.schedule = ResyncSchedule(default / QUARTERS)
        self.has_started = False

    @rule(handler=HANDLERS, period=st.none() | PERIODS)
    def join(self, handler: str, period: int | None) -> None:
        before = {name: granted(requested, self.model.check) for name, requested in self.model.requested.items()}
        expected = self.model.join(handler, period, self.now)
        requested = None if period is None else period / QUARTERS

        assert self.schedule.join(handler, requested, self.now / QUARTERS) == expected / QUARTERS

        is_other = period is not None and period != expected
        assert bool(self.schedule.adjustment) == is_other
        assert self.schedule.check_period == self.model.check / QUARTERS
        # However the check period shrinks, computing all periods again changes none of them.
        for name in before.keys() - {handler}:
            assert granted(self.model.requested[name], self.model.check) == before[name]

    @rule(handler=HANDLERS)
    def leave(self, handler: str) -> None:
        self.model.leave(handler)
        self.schedule.leave(handler)

    @rule()
    def start(self) -> None:
        self.model.start(self.now)
        self.schedule.start(self.now / QUARTERS)
        self.has_started = True

    @rule(quarters=st.integers(1, 60))
    def time_goes_by(self, quarters: int) -> None:
        for _ in range(quarters):
            self.now += 1
            self.look()

    @rule(quarters=st.integers(1, 200))
    def no_check_happens_for_a_while(self, quarters: int) -> None:
        self.now += quarters
        self.look()

    @precondition(lambda self: self.has_started)
    @rule(count=st.integers(1, 10))
    def a_check_happens_exactly_when_scheduled(self, count: int) -> None:
        for _ in range(count):
            at = self.schedule.next_check
            if at is None:
                assert self.model.check == 0
                return
            # Never in the past: there is no busy loop.
            assert at * QUARTERS > self.now
            self.now = int(at * QUARTERS)
            self.look()

    def look(self) -> None:
        assert self.schedule.due(self.now / QUARTERS) == self.model.due(self.now)


Schedules.TestCase.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
test_a_schedule_keeps_the_rules = Schedules.TestCase
