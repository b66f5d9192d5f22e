"""An elector that decides from the whole history of what happened to it: slow, and too simple to be wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from masthead._sansio.lease_records import Lease, LeaseRecord, LeaseTiming

Write: TypeAlias = "tuple[str, LeaseRecord]"
"""A verb, and the record that is written."""


@dataclass
class NaiveElector:
    """What happened, in order.

    Attributes:
        identity: The own identity.
        timing: The durations.
        sent: All writes that were sent, with the time by the own clock; None once a later one is acknowledged, or this.
        reads: The read or stored leases, with the time of the response; None for an absent lease.
        term: The record with which the term began, and when its last acknowledged write was sent.
        valid_from: From when on it may work.
        is_after_absence: Whether the last write created a lease that had been deleted.
    """

    identity: str
    timing: LeaseTiming
    sent: list[LeaseRecord] = field(default_factory=list)
    reads: list[tuple[float, Lease | None]] = field(default_factory=list)
    term: tuple[LeaseRecord, float] | None = None
    valid_from: float = float("-inf")
    is_after_absence: bool = False

    @property
    def valid_until(self) -> float:
        return self.term[1] + self.timing.renew_deadline if self.term else float("-inf")

    @property
    def lease_until(self) -> float:
        return self.term[1] + self.timing.lease_duration if self.term else float("-inf")

    def note_sent(self, record: LeaseRecord) -> None:
        self.sent.append(record)

    def note_stored(self, lease: Lease, sent: float, now: float) -> None:
        self.sent = [lease.record]
        seen = [read.record.seconds or 0 for _, read in self.reads if read is not None]
        self.reads.append((now, lease))
        if self.is_after_absence and lease.record.holder:
            self.valid_from = now + max(self.timing.lease_duration, seen[-1])
            self.is_after_absence = False
        if not lease.record.holder:
            self.term = None
        else:
            self.term = (self.term[0] if self.term else lease.record, sent)

    def note_read(self, lease: Lease | None, now: float) -> None:
        self.reads.append((now, lease))

    def expects(self, now: float) -> str:
        """What follows the last read: ``create``, ``update``, ``waiting`` or ``lost``."""
        lease = self.reads[-1][1]
        if lease is None:
            expected = self._expects_after_absence(now)
            is_known = any(read is not None for _, read in self.reads)
            self.is_after_absence |= expected == "create" and is_known and now >= self.lease_until
            return expected
        self.is_after_absence &= lease.record in self.sent
        if lease.record in self.sent:
            return "update"
        if self.term is not None:
            return "lost"
        if not lease.record.holder or now >= self._unchanged_since(lease) + self._seconds(lease.record):
            return "update"
        return "waiting"

    def expected_transitions(self) -> int:
        """Of the write that follows."""
        if self.term is not None:
            return self.term[0].transitions
        seen = [lease.record.transitions for _, lease in self.reads if lease is not None]
        return seen[-1] + 1 if seen else 0

    def _expects_after_absence(self, now: float) -> str:
        seen = [lease for _, lease in self.reads if lease is not None]
        if not seen or now < self.lease_until:
            return "create"
        absent = now
        for when, lease in reversed(self.reads):
            if lease is not None:
                break
            absent = when
        return "create" if now >= absent + self.timing.renew_deadline else "waiting"

    def _unchanged_since(self, lease: Lease) -> float:
        """The time since which all reads of the lease have returned this record."""
        since = self.reads[-1][0]
        for when, read in reversed(self.reads):
            if read is None:
                continue
            if (read.uid, read.record) != (lease.uid, lease.record):
                break
            since = when
        return since

    def _seconds(self, record: LeaseRecord) -> float:
        return self.timing.lease_duration if record.seconds is None else record.seconds
