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
"""The jitter of candidates: the retry period is lengthened by up to this multiple of itself."""


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """The three durations of an election, in seconds.

    Attributes:
        lease_duration: The wait of candidates without a renewal before they take over.
        renew_deadline: The time that a holder works without a renewal.
        retry_period: The time between two tries.

    Raises:
        ArgumentError: Unless lease_duration > renew_deadline > 1.2 * retry_period > 0.
    """

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        # The order guarantees that a holder stops before another takes over, and has at least one retry.
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
        """The timeout of one request, which must leave time for a second try."""
        # At least a second, because a busy server needs that long even with short deadlines.
        return max(1.0, self.renew_deadline / 2)

    @property
    def record_seconds(self) -> int:
        """The lease duration in whole seconds, rounded up, because candidates must not take over early."""
        return math.ceil(self.lease_duration)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The part of a lease's spec that an election uses.

    Attributes:
        holder: The identity of the holder; empty if it was released.
        seconds: The validity without a renewal; None if it is missing or invalid.
        acquired: The time of the acquisition by the holder's wall clock, for people.
        renewed: The time of the last renewal, likewise.
        transitions: The number of changes of the holder.
    """

    holder: str = ""
    seconds: int | None = None
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as returned by the server.

    Attributes:
        record: The holder's record.
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
        record: The record.
    """

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the record, if the lease still has the version.

    Attributes:
        record: The new record.
        version: The resource version that must be the current one.
        is_optimistic: Whether the lease was not read before; then a read follows a failure.
    """

    record: LeaseRecord
    version: str
    is_optimistic: bool = False


class TryOutcome(Enum):
    """The outcome of a try."""

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
        outcome: The outcome.
        was_read: Whether a renewal had to read the lease first, because an update without that failed.
        reason: The reason in words; empty if the lease is held.
    """

    outcome: TryOutcome
    was_read: bool = False
    reason: str = ""


Step: TypeAlias = "Read | Create | Update | TryResult"
