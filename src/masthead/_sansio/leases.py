"""Leader election by a Lease: who may write which record, and until when a holder may work.

::

                 try: read ──absent──────────────> create ─┐
    CANDIDATE ────────┤                                    ├─ written ──> HOLDER (a new term)
        ^             ├──released, expired or own──> update┘                │  ^
        │             └──held by another──> wait                            │  └─ try: update at once; if that fails,
        │                                                                   │     read, and update what is still own
        └── end_term <── LOST: the record is another's; or `valid_until` is over ──┘
             (after the work has ended)

The caller performs each step and reports its result; the machine returns the next step, or the result of the try::

    step = election.begin(now, wall, random)
    while not isinstance(step, TryResult):
        step = election.read(lease, now)              # Read: the lease; None if it does not exist
        step = election.written(lease, sent, now)     # Create, Update: what the server has stored
        step = election.failed()                      # any of them: no response, or a refusal

The rules:

* Only the own clock counts. Another's lease has expired when its record has not changed for its duration since it was
  *received* here; the own one is valid from the time at which the last successful write was *sent*. Whatever the delays,
  the holder's count begins first. The times in the record are read by nobody.
* A holder may work until `valid_until`, the renew deadline after that time. Then its work must end, before `lease_until`,
  from which on another may lead. So clocks may run at different rates, up to lease duration / renew deadline.
  differs from client-go: there, the renew deadline begins with the first renewal that fails, and may end a retry period
  later.
* A record is own only if this elector has written exactly it, acknowledged or not. A record with the own identity that
  it has not written is another's: somebody uses the same identity, or did so before a restart.
  differs from client-go: there, equal identities hold a lease together.
* Each term has more transitions than every earlier one, so that they order the terms: a fencing token. They are
  continued if the lease was deleted and its last record is known.
* A lease that was held and is deleted counts as held for its duration since its absence was noticed. The holder
  creates it again.
  differs from client-go: there, whoever comes first creates it, while the holder still works.
* A lease is released with an empty holder and a duration of one second, by a record that anybody may replace at once.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._sansio.backoff import jittered
from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from masthead._sansio.backoff import Random

__all__ = [
    "JITTER",
    "MAX_TRANSITIONS",
    "Create",
    "Election",
    "Lease",
    "LeaseRecord",
    "LeaseTiming",
    "Read",
    "Step",
    "TryOutcome",
    "TryResult",
    "Update",
]

JITTER: Final = 1.2
"""Candidates try again after the retry period, lengthened by up to so many times itself."""
MAX_TRANSITIONS: Final = 2**31 - 1
"""The API has them as int32."""
_MAX_UNACKNOWLEDGED: Final = 32
"""How many own writes without an acknowledgement are remembered. A forgotten one costs a lease duration of waiting."""
_RELEASED_DURATION: Final = 1
"""Seconds; the API does not allow 0."""


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """The three durations of an election, in seconds.

    Attributes:
        lease_duration: How long candidates wait without a renewal before they take over.
        renew_deadline: How long a holder that cannot renew goes on working.
        retry_period: The time between two tries.

    Raises:
        InvalidValueError: Unless lease_duration > renew_deadline > 1.2 * retry_period > 0.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > JITTER * self.retry_period > 0.0 or math.isinf(
            self.lease_duration
        ):
            raise InvalidValueError(
                f"leader election needs lease_duration > renew_deadline > {JITTER} * retry_period > 0, not "
                f"{self.lease_duration:g}, {self.renew_deadline:g} and {self.retry_period:g} seconds; the usual ones are "
                "15, 10 and 2",
                value=self,
            )

    @property
    def request_timeout(self) -> float:
        """The timeout of one request: one that hangs must leave time for another."""
        return max(1.0, self.renew_deadline / 2)

    @property
    def record_seconds(self) -> int:
        """The lease duration as records have it: whole seconds, and never shorter than it is."""
        return math.ceil(self.lease_duration)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The part of a lease's spec that an election is about.

    Attributes:
        holder: The identity of the holder; empty if it was released.
        seconds: How long it is valid without a renewal; None if it does not say, or not properly.
        acquired: When the holder acquired it, by the holder's wall clock; for people.
        renewed: When it was renewed, likewise.
        transitions: How often its holder has changed.
    """

    holder: str = ""
    seconds: int | None = None
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as the server returns it.

    Attributes:
        record: Who holds it.
        uid: Its UID; another one after a deletion.
        version: Its resource version.
    """

    record: LeaseRecord
    uid: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """Read the lease."""


@dataclass(frozen=True, slots=True)
class Create:
    """Create the lease.

    Attributes:
        record: With this record.
    """

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the record, if the lease has still the version.

    Attributes:
        record: The new record.
        version: The resource version that must be the current one.
        is_optimistic: Whether it was not read before; if it fails, that comes next.
    """

    record: LeaseRecord
    version: str
    is_optimistic: bool = False


class TryOutcome(Enum):
    """What a try has come to."""

    HELD = "held"
    """The lease was acquired, or renewed."""
    RELEASED = "released"
    """The lease is not ours any more, because we released it or because it was not ours before."""
    WAITING = "waiting"
    """Another holds it, or held it when it was deleted."""
    LOST = "lost"
    """It was ours, and now the record is another's."""
    FAILED = "failed"
    """A request failed. The lease may be ours as before."""


@dataclass(frozen=True, slots=True)
class TryResult:
    """The result of a try.

    Attributes:
        outcome: What it has come to.
        was_read: Whether a renewal had to read the lease first, because an update without that failed.
        reason: In words, unless the lease is held.
    """

    outcome: TryOutcome
    was_read: bool = False
    reason: str = ""


Step: TypeAlias = "Read | Create | Update | TryResult"


@dataclass(frozen=True, slots=True)
class _Term:
    """A time of holding the lease without interruption.

    Attributes:
        transitions: Those of the record, the same through the term.
        acquired: When it began, by the wall clock.
        sent: When the last successful write was sent, by the own clock.
    """

    transitions: int
    acquired: datetime | None
    sent: float


class Election:
    """What one elector knows of a lease, and what it does next.

    Args:
        identity: The own identity.
        timing: The durations.

    Raises:
        InvalidValueError: If the identity is empty.
    """

    def __init__(self, identity: str, timing: LeaseTiming) -> None:
        if not identity:
            raise InvalidValueError(
                "the identity is empty; it must be unique among the replicas", value=identity
            )
        self._identity = identity
        self._timing = timing
        self._observed: Lease | None = None
        self._observed_at = 0.0
        self._absent_since: float | None = None
        self._own: deque[LeaseRecord] = deque(maxlen=_MAX_UNACKNOWLEDGED)
        self._term: _Term | None = None
        # Of the current try:
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
        """The lease as it was last read or written; None if it never was."""
        return self._observed

    @property
    def holder(self) -> str:
        """The last known holder; empty if there is none."""
        return self._observed.record.holder if self._observed is not None else ""

    @property
    def transitions(self) -> int | None:
        """The transitions of the current term; None for a candidate."""
        return self._term.transitions if self._term is not None else None

    @property
    def valid_until(self) -> float:
        """Until when the holder may work, by the own clock; minus infinity for a candidate."""
        return self._term.sent + self._timing.renew_deadline if self._term is not None else -math.inf

    @property
    def lease_until(self) -> float:
        """From when on another may lead, by the own clock; minus infinity for a candidate."""
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

    def next_try(self, random: Random) -> float:
        """Seconds between two tries: a holder renews at regular intervals, candidates are kept out of step."""
        retry = self._timing.retry_period
        return retry if self._term is not None else jittered(retry, JITTER, random)

    def begin(self, now: float, wall: datetime, random: Random) -> Step:
        """Begin a try to acquire or to renew the lease.

        Args:
            now: By the own clock.
            wall: By the wall clock, for the record.
            random: Tells records apart that are written in the same millisecond.
        """
        return self._begin(now, wall, random, is_release=False)

    def begin_release(self, now: float, wall: datetime, random: Random) -> Step:
        """Begin to release the lease. The work has ended. The arguments are those of `begin`."""
        return self._begin(now, wall, random, is_release=True)

    def read(self, lease: Lease | None, now: float) -> Step:
        """Report what was read, and when it arrived: not earlier."""
        self._was_read = True
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
        """Report that a write succeeded, with the lease as stored, when it was sent (not later), and the time."""
        step, self._pending = self._pending, None
        assert isinstance(step, Create | Update), "nothing was to be written"
        self._absent_since = None
        self._observed, self._observed_at = lease, now
        if lease.record != step.record:
            # Only admission may do that. Others wait by what is stored, so that nothing can be concluded from ours.
            self._own.clear()
            return self._not_own(
                "the server has stored another record than was sent; see its admission webhooks"
            )
        self._own.clear()
        self._own.append(lease.record)
        if self._is_release:
            self._term = None
            return TryResult(TryOutcome.RELEASED, self._was_read, "released")
        self._term = _Term(lease.record.transitions, lease.record.acquired, sent)
        return TryResult(TryOutcome.HELD, self._was_read)

    def failed(self, reason: str = "a request failed") -> Step:
        """Report that a request failed. A write may have been applied nonetheless; that is remembered."""
        step, self._pending = self._pending, None
        if isinstance(step, Update) and step.is_optimistic:
            return self._next(Read())
        return TryResult(TryOutcome.FAILED, self._was_read, reason)

    def end_term(self) -> None:
        """Become a candidate again. The work has ended."""
        self._term = None

    def _begin(self, now: float, wall: datetime, random: Random, *, is_release: bool) -> Step:
        self._is_release, self._was_read = is_release, False
        self._stamp = self._stamp_of(wall, random)
        lease = self._observed
        is_known = self._absent_since is None and lease is not None and self._is_own(lease.record)
        if is_known and lease is not None and now < self.lease_until:
            return self._next(Update(self._record(), lease.version, is_optimistic=True))
        return self._next(Read())

    def _next(self, step: Step) -> Step:
        if isinstance(step, Create | Update):
            self._own.append(step.record)
        self._pending = step
        return step

    def _after_absence(self, now: float) -> Step:
        known = self._observed
        if self._absent_since is None:
            self._absent_since = now
        if self._is_release:
            return TryResult(TryOutcome.RELEASED, self._was_read, "the lease does not exist")
        if self._term is not None or known is None or not known.record.holder or self._is_own(known.record):
            return self._create()
        # Its holder does not know yet. It may even have renewed since we read it last, so its whole duration counts.
        left = self._absent_since + self._seconds_of(known.record) - now
        if left <= 0:
            return self._create()
        reason = f"it was deleted while {known.record.holder} held it, who may work for another {left:.1f} s"
        return TryResult(TryOutcome.WAITING, self._was_read, reason)

    def _create(self) -> Create:
        record = self._record()
        return Create(record if record.transitions <= MAX_TRANSITIONS else replace(record, transitions=0))

    def _after_lease(self, lease: Lease, now: float) -> Step:
        record = lease.record
        is_own = self._is_own(record)
        if self._is_release and not is_own:
            self._term = None
            return TryResult(TryOutcome.RELEASED, self._was_read, f"{record.holder or 'nobody'} holds it")
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
        """Whether this elector has written exactly this record: the last acknowledged one, or one after it."""
        return record in self._own

    def _record(self) -> LeaseRecord:
        """The record that the current try is to write."""
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
        """How long another's record is valid; the own duration, if it does not say."""
        return self._timing.lease_duration if record.seconds is None else record.seconds

    def _stamp_of(self, wall: datetime, random: Random) -> datetime:
        """The wall-clock time of a record; each differs from the one before, though the clock may stand or jump.

        Otherwise a renewal would not be seen as one. What is below a millisecond is random, so that records of two
        electors with one identity differ.
        """
        stamp = wall.replace(microsecond=wall.microsecond // 1000 * 1000 + int(random() * 1000))
        return stamp if stamp != self._stamp else stamp + timedelta(microseconds=1)


def _whose(record: LeaseRecord, identity: str) -> str:
    if not record.holder:
        return "somebody else has released it"
    if record.holder == identity:
        return f"another process uses the identity {identity}, or did so before a restart"
    return f"{record.holder} holds it"
