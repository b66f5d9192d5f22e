"""Several electors at one lease, in any order of requests, responses and losses, compared with a naive model.

Each decision is the model's, and never do two believe that they may work: also if their clocks run at different rates.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.sansio.lease_steps import EPOCH
from tests.unit.sansio.naive_elector import NaiveElector

from masthead._sansio.lease_records import (
    Create,
    Lease,
    LeaseRecord,
    LeaseTiming,
    Read,
    TryOutcome,
    TryResult,
    Update,
)
from masthead._sansio.leases import Election

if TYPE_CHECKING:
    from masthead._sansio.lease_records import Step

TIMING = LeaseTiming(15.0, 10.0, 2.0)
RATIO = 1.499
"""How much faster one clock may run than another: lease_duration / renew_deadline, at most."""
WHICH = st.integers(0, 2)
SECONDS = st.one_of(st.floats(0.0, 3.0), st.sampled_from([5.0, 10.0, 15.0, 15.001]))


@dataclass
class Message:
    """A request on its way, or its response.

    Attributes:
        step: The requested step.
        sent: When, by the sender's clock.
        response: The response; None before the server has handled it. A refusal is a string.
    """

    step: Read | Create | Update
    sent: float
    response: Lease | str | None = None
    is_handled: bool = False


class Elector:
    """An election and its naive model."""

    def __init__(self, identity: str, rate: float) -> None:
        self.rate = rate
        self.election = Election(identity, TIMING)
        self.naive = NaiveElector(identity, TIMING)
        self.message: Message | None = None
        self.late: list[Create | Update] = []
        self.is_releasing = False


class LeaseMachine(RuleBasedStateMachine):
    """The server is one lease with a version."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.lease: Lease | None = None
        self.versions = itertools.count(1)
        self.electors: list[Elector] = []
        self.has_unseen_create = False

    @initialize(fast=st.lists(st.booleans(), min_size=3, max_size=3), same=st.booleans(), slow=st.floats(1.0, RATIO))
    def start(self, fast: list[bool], same: bool, slow: float) -> None:
        self.electors = [
            Elector("same" if same else f"e{number}", slow if is_fast else 1.0) for number, is_fast in enumerate(fast)
        ]

    # Time

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.now += seconds

    # Electors

    @rule(which=WHICH, number=st.floats(0, 0.999), stuck=st.booleans())
    def try_once(self, which: int, number: float, stuck: bool) -> None:
        elector = self.electors[which]
        if elector.message is None:
            wall = EPOCH if stuck else EPOCH + timedelta(seconds=self.now)
            elector.is_releasing = False
            step = elector.election.begin(self.clock(elector), wall, lambda: number)
            expected = self.expected_begin(elector)
            assert isinstance(step, expected), (step, expected)
            self.send(elector, step)

    @rule(which=WHICH)
    def release(self, which: int) -> None:
        elector = self.electors[which]
        if elector.message is None and elector.naive.term is not None:
            elector.is_releasing = True
            self.send(elector, elector.election.begin_release(self.clock(elector), EPOCH, lambda: 0.3))

    @rule(which=WHICH)
    def end_term(self, which: int) -> None:
        """Its work has ended because it may not work any more."""
        elector = self.electors[which]
        if elector.message is None and self.clock(elector) >= elector.naive.valid_until:
            elector.election.end_term()
            elector.naive.term = None

    @rule(which=WHICH)
    def restart(self, which: int) -> None:
        """A new process, with the same identity."""
        elector = self.electors[which]
        # It has never seen the deleted lease, and creates one immediately.
        self.has_unseen_create |= self.lease is None
        self.electors[which] = Elector(elector.naive.identity, elector.rate)
        if elector.message is not None and not isinstance(elector.message.step, Read):
            self.electors[which].late.append(elector.message.step)

    # The network

    @rule(which=WHICH)
    def handle(self, which: int) -> None:
        message = self.electors[which].message
        if message is not None and not message.is_handled:
            message.response, message.is_handled = self.handled(message.step), True

    @rule(which=WHICH)
    def deliver(self, which: int) -> None:
        elector = self.electors[which]
        message = elector.message
        if message is not None and message.is_handled:
            elector.message = None
            self.take(elector, message)

    @rule(which=WHICH, is_delayed=st.booleans())
    def lose(self, which: int, is_delayed: bool) -> None:
        """No response comes in time; the request may still arrive."""
        elector = self.electors[which]
        message, elector.message = elector.message, None
        if message is not None:
            if is_delayed and not message.is_handled and not isinstance(message.step, Read):
                elector.late.append(message.step)
            self.send(elector, elector.election.failed())

    @rule(which=WHICH)
    def arrive_late(self, which: int) -> None:
        if self.electors[which].late:
            self.handled(self.electors[which].late.pop(0))

    # Administrators

    @rule()
    def annotate(self) -> None:
        if self.lease is not None:
            self.lease = replace(self.lease, version=str(next(self.versions)))

    @precondition(lambda self: all(any(lease for _, lease in elector.naive.reads) for elector in self.electors))
    @rule()
    def delete(self) -> None:
        """Only if all have seen it: an elector that has not would create it immediately."""
        self.lease = None

    # What must hold

    @invariant()
    def at_most_one_may_work(self) -> None:
        working = [
            elector
            for elector in self.electors
            if elector.naive.valid_from <= self.clock(elector) < elector.naive.valid_until
        ]
        assert len(working) <= 1 or self.has_unseen_create, [elector.naive.term for elector in working]

    @invariant()
    def the_machine_agrees_with_the_model(self) -> None:
        for elector in self.electors:
            assert elector.election.valid_until == elector.naive.valid_until
            assert elector.election.lease_until == elector.naive.lease_until
            assert elector.election.valid_from == elector.naive.valid_from

    # Helpers

    def clock(self, elector: Elector) -> float:
        return self.now * elector.rate

    def send(self, elector: Elector, step: Step) -> None:
        if isinstance(step, TryResult):
            return
        if isinstance(step, Create | Update):
            assert all(step.record.renewed != record.renewed for record in elector.naive.sent)
            elector.naive.note_sent(step.record)
        elector.message = Message(step, self.clock(elector))

    def take(self, elector: Elector, message: Message) -> None:
        now, response = self.clock(elector), message.response
        if isinstance(response, str):
            self.send(elector, elector.election.failed(response))
        elif isinstance(message.step, Read):
            elector.naive.note_read(response, now)
            step = elector.election.read(response, now, EPOCH + timedelta(seconds=self.now), lambda: 0.7)
            self.compare(elector, step, now)
            self.send(elector, step)
        else:
            assert response is not None
            elector.naive.note_stored(response, message.sent, now)
            step = elector.election.written(response, message.sent, now)
            assert isinstance(step, TryResult)
            assert step.outcome is (TryOutcome.HELD if response.record.holder else TryOutcome.RELEASED)

    def compare(self, elector: Elector, step: Step, now: float) -> None:
        if elector.is_releasing:
            lease = elector.naive.reads[-1][1]
            is_own = lease is not None and lease.record in elector.naive.sent
            assert isinstance(step, Update) is is_own
            if not is_own and lease is not None:
                elector.naive.term = None
                elector.naive.is_after_absence = False
            return
        expected = elector.naive.expects(now)
        if isinstance(step, TryResult):
            assert step.outcome.value == expected
        else:
            assert type(step).__name__.lower() == expected
            assert not isinstance(step, Read)
            assert step.record.transitions == elector.naive.expected_transitions()
            assert step.record.holder == elector.naive.identity
        if expected == "lost":
            elector.election.end_term()  # and the work ends; it may be late, as in any such case
            elector.naive.term = None

    def expected_begin(self, elector: Elector) -> type:
        reads = elector.naive.reads
        last = reads[-1][1] if reads else None
        is_own = last is not None and last.record in elector.naive.sent
        return Update if is_own and self.clock(elector) < elector.naive.lease_until else Read

    def handled(self, step: Read | Create | Update) -> Lease | str | None:
        if isinstance(step, Read):
            return self.lease
        if isinstance(step, Create):
            if self.lease is not None:
                return "AlreadyExists"
            return self.store(step.record, f"uid{next(self.versions)}")
        if self.lease is None:
            return "NotFound"
        return self.store(step.record, self.lease.uid) if step.version == self.lease.version else "Conflict"

    def store(self, record: LeaseRecord, uid: str) -> Lease:
        self.lease = Lease(record, uid, str(next(self.versions)))
        return self.lease


EXAMPLES = int(os.environ.get("MASTHEAD_ELECTION_EXAMPLES", "60"))
LeaseMachine.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=60)
test_leases = LeaseMachine.TestCase
