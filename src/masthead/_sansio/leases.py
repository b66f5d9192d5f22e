"""Leader election by a Lease: which record an elector may write, and the renew deadline of a holder.

::

                 try: read ──absent──────────────> create ─┐
    CANDIDATE ────────┤                                    ├─ written ──> HOLDER (a new term)
        ^             ├──released, expired or own──> update┘                │  ^
        │             └──held by another──> wait                            │  └─ try: update first; if that fails,
        │                                                                   │     read, and update the own record
        └── end_term <── LOST: the record is another's; or `valid_until` is over ──┘
             (after the work has ended)

The caller performs each step and reports its result; the machine returns the next step, or the result of the try::

    step = election.begin(now, wall, random)
    while not isinstance(step, TryResult):
        step = election.read(lease, now, wall, random)  # Read: the lease; None if it does not exist
        step = election.written(lease, sent, now)        # Create, Update: the stored lease
        step = election.failed()                         # any of them: no response, or a refusal

The rules:

* Only the elector's own clock counts. Another's lease has expired when its record has not changed for its duration
  since it was *received* here; the own one is valid from the time at which the last successful write was *sent*.
  Whatever the delays, the holder's count begins first. The times in the record are not read.
* A holder may work until `valid_until`, the renew deadline after that time. Then its work must end, before
  `lease_until`, from which on another may lead. So clocks may run at different rates, up to lease duration / renew
  deadline.
  differs from client-go: there, the renew deadline begins with the first renewal that fails, and may end a
  retry period later.
* A record is own only if this elector has written exactly it, acknowledged or not. A record with the own identity that
  it has not written is another's: another process uses the same identity, or did so before a restart.
  differs from client-go: there, equal identities hold a lease together.
* Each write differs from every other, also two of one try: a renewal that stores the same record is not a renewal for
  those who wait.
  differs from client-go: there, an update whose response was lost and the one after it write the same
  record.
* Each term has more transitions than every earlier one, so that they order the terms: a fencing token. They are
  continued if the lease was deleted and its last record is known.
* A lease that was seen and is deleted is created again by its holder. If it is not, another elector creates it after
  the renew deadline, and works from `valid_from` on, a lease duration later: any earlier holder has stopped by then,
  observed or not. Only an elector that has never seen the lease creates it and works immediately. differs from
  client-go: there, the first elector creates it, while the holder still works.
* A release writes an empty holder and a duration of one second, a record that any elector may replace immediately.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead._sansio.backoff import jittered
from masthead._sansio.lease_records import JITTER, Create, LeaseRecord, Read, TryOutcome, TryResult, Update
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._sansio.backoff import Random
    from masthead._sansio.lease_records import Lease, LeaseTiming, Step

__all__ = ["MAX_TRANSITIONS", "Election"]

MAX_TRANSITIONS: Final = 2**31 - 1
"""The API stores them as int32."""
_MAX_UNACKNOWLEDGED: Final = 32
"""Unacknowledged own writes that are remembered. A forgotten one costs a wait of one lease duration."""
_CLOCK_JUMP: Final = timedelta(seconds=1)
"""A wall clock that goes back by more than this was set."""
_MIN_PAUSE: Final = 0.1
"""Minimum pause between two renewals, as a share of the retry period."""
_RELEASED_DURATION: Final = 1
"""Seconds; the API does not allow 0."""


@dataclass(frozen=True, slots=True)
class _Term:
    """An uninterrupted period of holding the lease.

    Attributes:
        transitions: The transitions of the record, constant during the term.
        acquired: The beginning of the term, by the wall clock.
        sent: The time of sending the last successful write, by the own clock.
    """

    transitions: int
    acquired: datetime | None
    sent: float


class Election:
    """The state machine of one elector at one lease.

    Args:
        identity: The own identity.
        timing: The durations.

    Raises:
        ArgumentError: If the identity is empty.
    """

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        if not identity:
            raise ArgumentError("the identity is empty; it must be unique among the replicas", value=identity)
        self._identity = identity
        self._timing = timing
        self._observed: Lease | None = None
        self._observed_at = 0.0
        self._absent_since: float | None = None
        self._follows_absence = False
        self._valid_from = -math.inf
        self._own: deque[LeaseRecord] = deque(maxlen=_MAX_UNACKNOWLEDGED)
        self._term: _Term | None = None
        # The state of the current try:
        self._stamp = datetime.min.replace(tzinfo=UTC)
        self._is_release = False
        self._was_read = False
        self._pending: Step | None = None

    @property
    def identity(self) -> str:
        """The own identity."""
        return self._identity

    @property
    def timing(self) -> LeaseTiming:
        """The durations."""
        return self._timing

    @property
    def observed(self) -> Lease | None:
        """The last observed lease; None before the first."""
        return self._observed

    @property
    def holder(self) -> str:
        """The last known holder; empty without one."""
        return self._observed.record.holder if self._observed is not None else ""

    @property
    def transitions(self) -> int | None:
        """The transitions of the current term; None for a candidate."""
        return self._term.transitions if self._term is not None else None

    @property
    def valid_from(self) -> float:
        """The time from which the holder may work, by the own clock: later than its term after a deleted lease."""
        return self._valid_from

    @property
    def valid_until(self) -> float:
        """The renew deadline of the holder, by the own clock; minus infinity for a candidate."""
        return self._term.sent + self._timing.renew_deadline if self._term is not None else -math.inf

    @property
    def lease_until(self) -> float:
        """The time from which another elector may lead, by the own clock; minus infinity for a candidate."""
        return self._term.sent + self._timing.lease_duration if self._term is not None else -math.inf

    @property
    def may_hold(self) -> bool:
        """Whether the lease may be held by a write of ours, acknowledged or not."""
        return any(record.holder for record in self._own)

    @property
    def is_impersonated(self) -> bool:
        """Whether the lease has the own identity in a record that this elector has not written."""
        return (
            self._observed is not None
            and self._observed.record.holder == self._identity
            and not self._is_own(self._observed.record)
        )

    def next_try(self, now: float, began: float, random: Random) -> float:
        """Seconds until the next try: regular for a holder, randomized for candidates.

        Args:
            now: By the own clock.
            began: When the last try began.
            random: The source of jitter.
        """
        retry = self._timing.retry_period
        if self._term is None:
            return jittered(retry, JITTER, random)
        left = self.valid_until - now
        # Close to the renew deadline, failed renewals are repeated faster.
        interval = min(retry, left / 2) if left > 0 else retry
        return max(began + interval - now, retry * _MIN_PAUSE)

    def begin(self, now: float, wall: datetime, random: Random) -> Step:
        """Begin a try to acquire or to renew the lease.

        Args:
            now: By the own clock.
            wall: By the wall clock, for the record.
            random: Distinguishes records that are written in the same millisecond.
        """
        return self._begin(now, wall, random, is_release=False)

    def begin_release(self, now: float, wall: datetime, random: Random) -> Step:
        """Begin to release the lease, after the work has ended. The arguments are those of `begin`."""
        return self._begin(now, wall, random, is_release=True)

    def read(self, lease: Lease | None, now: float, wall: datetime, random: Random) -> Step:
        """Report a read lease, and a time not before its arrival. The other arguments are those of `begin`."""
        self._was_read = True
        self._stamp = self._stamp_of(wall, random)
        self._pending = None
        if lease is None:
            return self._next(self._after_absence(now))
        self._absent_since = None
        known = self._observed
        if known is None or (known.uid, known.record) != (lease.uid, lease.record):
            self._observed_at = now
        self._observed = lease
        return self._next(self._after_lease(lease, now))

    def written(self, lease: Lease, sent: float, now: float) -> Step:
        """Report a successful write: the stored lease, a time not after the sending, and the current time."""
        step, self._pending = self._pending, None
        assert isinstance(step, Create | Update), "nothing was to be written"
        self._absent_since = None
        before, self._observed, self._observed_at = self._observed, lease, now
        if lease.record != step.record:
            # Only admission webhooks do that. Other electors wait by the stored record, so that ours proves nothing.
            self._own.clear()
            return self._not_own("the server has stored another record than was sent; see its admission webhooks")
        # The acknowledged write makes all earlier ones impossible.
        self._own.clear()
        self._own.append(lease.record)
        if self._is_release:
            self._term = None
            return TryResult(TryOutcome.RELEASED, self._was_read, "released")
        if self._follows_absence:
            # Unobserved holders in the meantime cannot renew any more, but may still work.
            known = before.record.seconds if before is not None else None
            self._valid_from = now + max(self._timing.lease_duration, known or 0)
            self._follows_absence = False
        self._term = _Term(lease.record.transitions, lease.record.acquired, sent)
        return TryResult(TryOutcome.HELD, self._was_read)

    def failed(self, reason: str = "a request failed") -> Step:
        """Report a failed request. The server may have applied a write nevertheless, which is remembered."""
        step, self._pending = self._pending, None
        if isinstance(step, Update) and step.is_optimistic:
            return self._next(Read())
        return TryResult(TryOutcome.FAILED, self._was_read, reason)

    def end_term(self) -> None:
        """Become a candidate again, after the work has ended."""
        self._term = None

    def _begin(self, now: float, wall: datetime, random: Random, *, is_release: bool) -> Step:
        self._is_release, self._was_read = is_release, False
        self._stamp = self._stamp_of(wall, random)
        lease = self._observed
        # A holder updates without reading, which halves the requests; the version makes that safe.
        is_known = self._absent_since is None and lease is not None and self._is_own(lease.record)
        if is_known and lease is not None and now < self.lease_until:
            return self._next(Update(self._record(), lease.version, is_optimistic=True))
        return self._next(Read())

    def _next(self, step: Step) -> Step:
        if isinstance(step, Create | Update):
            # Before the request: the server may apply it, even if the response is lost.
            self._own.append(step.record)
        self._pending = step
        return step

    def _after_absence(self, now: float) -> Step:
        known = self._observed
        if self._absent_since is None:
            self._absent_since = now
        if self._is_release:
            return TryResult(TryOutcome.RELEASED, self._was_read, "the lease does not exist")
        if known is None or now < self.lease_until:
            return self._create()
        # Its holder may not have noticed the deletion, and creates the lease again before its renew deadline.
        left = self._absent_since + self._timing.renew_deadline - now
        if left > 0:
            reason = f"it was deleted, and its holder has another {left:.1f} s to create it again"
            return TryResult(TryOutcome.WAITING, self._was_read, reason)
        self._follows_absence = True
        return self._create()

    def _create(self) -> Create:
        record = self._record()
        # A new lease may count from the beginning, because its uid distinguishes it.
        return Create(record if record.transitions <= MAX_TRANSITIONS else replace(record, transitions=0))

    def _after_lease(self, lease: Lease, now: float) -> Step:
        record = lease.record
        is_own = self._is_own(record)
        self._follows_absence &= is_own
        if self._is_release and not is_own:
            self._term = None
            return TryResult(TryOutcome.RELEASED, self._was_read, f"{record.holder or 'no one'} holds it")
        if self._term is not None and not is_own:
            return self._not_own(_whose(record, self._identity))
        if record.holder and not is_own:
            left = self._observed_at + self._seconds_of(record) - now
            if left > 0:
                reason = f"{_whose(record, self._identity)}; it expires in {left:.1f} s unless it is renewed"
                return TryResult(TryOutcome.WAITING, self._was_read, reason)
        if self._record().transitions > MAX_TRANSITIONS:
            reason = f"its leaseTransitions cannot grow beyond {MAX_TRANSITIONS}; delete the lease"
            return TryResult(TryOutcome.FAILED, self._was_read, reason)
        return Update(self._record(), lease.version)

    def _not_own(self, reason: str) -> TryResult:
        outcome = TryOutcome.WAITING if self._term is None else TryOutcome.LOST
        return TryResult(outcome, self._was_read, reason)

    def _is_own(self, record: LeaseRecord) -> bool:
        """Whether this elector has written exactly this record: the last acknowledged one, or a later one."""
        return record in self._own

    def _record(self) -> LeaseRecord:
        """The record that the current try writes."""
        term, known = self._term, self._observed
        before = known.record.transitions if known is not None else -1
        if self._is_release:
            transitions = term.transitions if term is not None else max(before, 0)
            return LeaseRecord("", _RELEASED_DURATION, self._stamp, self._stamp, transitions)
        held = LeaseRecord(self._identity, self._timing.record_seconds, self._stamp, self._stamp, before + 1)
        if term is not None:
            held = replace(held, acquired=term.acquired, transitions=term.transitions)
        return held

    def _seconds_of(self, record: LeaseRecord) -> float:
        """The validity of another's record; the own duration, if it has none."""
        return self._timing.lease_duration if record.seconds is None else record.seconds

    def _stamp_of(self, wall: datetime, random: Random) -> datetime:
        """The wall-clock time of a record, different for each write even if the clock stops.

        Otherwise other electors would not see a renewal. A random part distinguishes electors with the same identity.
        """
        part = timedelta(microseconds=1 + int(random() * 1000))
        is_stopped = timedelta() <= self._stamp - wall < _CLOCK_JUMP
        return (self._stamp if is_stopped else wall) + part


def _whose(record: LeaseRecord, identity: str) -> str:
    if not record.holder:
        return "another holder has released it"
    if record.holder == identity:
        return f"another process uses the identity {identity}, or did so before a restart"
    return f"{record.holder} holds it"
