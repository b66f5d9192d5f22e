"""Values and shorthands for tests of leader election."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from masthead._sansio.lease_records import Create, Lease, LeaseRecord, LeaseTiming, Read, TryResult, Update
from masthead._sansio.leases import Election

if TYPE_CHECKING:
    from masthead._sansio.lease_records import Step

TIMING = LeaseTiming(15.0, 10.0, 2.0)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def middle() -> float:
    """Random numbers that are always the same."""
    return 0.5


def wall(now: float) -> datetime:
    """A wall clock that agrees with the own clock."""
    return EPOCH + timedelta(seconds=now)


class Elector:
    """An election with a clock, and the last step that it asked for."""

    def __init__(self, identity: str = "me", timing: LeaseTiming = TIMING) -> None:
        self.now = 0.0
        self.election = Election(identity, timing)
        self.step: Step = TryResult  # type: ignore[assignment]
        self.sent = 0.0

    def begin(self) -> Step:
        self.sent = self.now
        self.step = self.election.begin(self.now, wall(self.now), middle)
        return self.step

    def release(self) -> Step:
        self.sent = self.now
        self.step = self.election.begin_release(self.now, wall(self.now), middle)
        return self.step

    def read(self, lease: Lease | None) -> Step:
        self.step = self.election.read(lease, self.now, wall(self.now), middle)
        self.sent = self.now
        return self.step

    def stored(self, version: str = "2", uid: str = "u") -> Step:
        """The write succeeds."""
        self.step = self.election.written(Lease(self.record, uid, version), self.sent, self.now)
        return self.step

    def failed(self) -> Step:
        self.step = self.election.failed()
        self.sent = self.now
        return self.step

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def lead(self) -> LeaseRecord:
        """Create the lease, and so hold it; returns its record."""
        assert self.begin() == Read()
        assert isinstance(self.read(None), Create)
        record = self.record
        self.stored()
        return record

    @property
    def record(self) -> LeaseRecord:
        """What the last step is to write."""
        assert isinstance(self.step, Create | Update), self.step
        return self.step.record

    @property
    def result(self) -> TryResult:
        """The result of the last try."""
        assert isinstance(self.step, TryResult), self.step
        return self.step


def others(
    holder: str = "other",
    *,
    seconds: int | None = 15,
    renewed: float = 0.0,
    transitions: int = 3,
    version: str = "1",
) -> Lease:
    """A lease with a record of another."""
    return Lease(LeaseRecord(holder, seconds, wall(0), wall(renewed), transitions), "u", version)
