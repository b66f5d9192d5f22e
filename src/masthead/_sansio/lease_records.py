"""The values of a leader election: durations, records of a lease, steps of a try and its results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "JITTER",
    "Create",
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


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """The three durations of an election, in seconds.

    Attributes:
        lease_duration: How long candidates wait without a renewal before they take over.
        renew_deadline: How long a holder that cannot renew goes on working.
        retry_period: The time between two tries.

    Raises:
        ArgumentError: Unless lease_duration > renew_deadline > 1.2 * retry_period > 0.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > JITTER * self.retry_period > 0.0 or math.isinf(
            self.lease_duration
        ):
            raise ArgumentError(
                f"leader election needs lease_duration > renew_deadline > {JITTER} * retry_period > 0, not "
                f"{self.lease_duration:g}, {self.renew_deadline:g} and {self.retry_period:g} seconds; the usual ones "
                "are "
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
    """Another holds it, or may have held it when it was deleted."""
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
