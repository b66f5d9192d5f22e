"""The recording of a run: its timeline, and the state of the server at each moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from masthead.testing import virtual_time
from masthead.testing._explore.checksums import checksum_object, checksum_parts
from masthead.testing._explore.oracles.invariants import InvariantChecker
from masthead.testing._explore.trace import ChangeRecord, ObjectView, RunResult, TraceEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.oracles.invariants import Invariant
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.trace import EntryKind, ReadRecord, WriteRecord
    from masthead_server.change_log import RecordedChange
    from masthead_server.server import Server

__all__ = ["RunRecorder"]

_UNRECORDED: Final = frozenset({"leases.coordination.k8s.io", "events", "events.events.k8s.io"})
_USER_AGENT: Final = "masthead-testing"
_MAX_ENTRIES: Final = 20_000


class RunRecorder:
    """Records what happens in a run.

    Args:
        schedule: The schedule.
        invariants: Rules about the objects, to check on the way.

    Attributes:
        result: The recorded run.
        pending: The faults that have not struck yet.
        step: The current step of the workload, from 1; 0 before it.
        server: The server, once it runs.
    """

    server: Server

    def __init__(self, schedule: Schedule, invariants: Sequence[Invariant] = ()) -> None:
        self.result: RunResult = RunResult(schedule)
        self._checker = InvariantChecker(invariants) if invariants else None
        self.pending: list[PlannedFault] = list(schedule.faults)
        self.step: int = 0
        self._live: dict[tuple[str, str], ObjectView] = {}
        self._revision = 0

    @property
    def has_struck(self) -> bool:
        """Whether a fault has struck."""
        return len(self.pending) < len(self.result.schedule.faults)

    def add(self, kind: EntryKind, text: str, *, replica: str = "", reconcile: str = "", number: int = 0) -> None:
        """Add a line to the timeline."""
        # Bounded, because an operator may loop until its time is over.
        if len(self.result.entries) < _MAX_ENTRIES:
            now = virtual_time.now()
            self.result.entries.append(TraceEntry(now, kind, text, self.step, replica, reconcile, number))

    def strike(self, fault: PlannedFault, text: str) -> None:
        """Note that a fault strikes."""
        if fault in self.pending:
            self.pending.remove(fault)
        self.absorb_changes()
        self.add("fault", text)

    def record_write(self, record: WriteRecord) -> None:
        """Record a write of the operator."""
        self.absorb_changes()
        self.result.writes.append(record)
        self.add("write", str(record), replica=record.replica, reconcile=record.reconcile, number=record.number)

    def record_read(self, record: ReadRecord) -> None:
        """Record a live read of a reconcile."""
        self.result.reads.append(record)
        self.add("read", f"read {record.target} ({record.code})", replica=record.replica, number=record.number)

    def record_call(self, text: str, number: int) -> None:
        """Record a call of an external system."""
        self.result.calls.append(text)
        self.add("external", text, number=number)

    def note(self, text: str) -> None:
        """Add a remark for the reader of the result."""
        self.result.notes.append(text)

    def live(self, resource: str, key: str) -> ObjectView:
        """Return an object on the server."""
        self.absorb_changes()
        return self._live.get((resource, key), ObjectView())

    def absorb_changes(self) -> None:
        """Record the changes of the store since the last call."""
        # Asked before every line of the timeline, and most of them change nothing.
        if self.server.revision == self._revision:
            return
        for change in self.server.changes(self._revision):
            self._note_change(change)
        self._revision = self.server.revision

    def check_invariants(self) -> None:
        """Check what must hold when all is idle."""
        if self._checker is not None:
            self._checker.rest(self.server.revision, self.step)
            self.result.violations = self._checker.violations

    def _note_change(self, change: RecordedChange) -> None:
        if self._checker is not None:
            self._checker.note(
                change.type, change.resource, change.key, change.object, revision=change.revision, step=self.step
            )
        metadata = cast("dict[str, Any]", change.object["metadata"])
        self._live[change.resource, change.key] = (
            ObjectView()
            if change.type == "DELETED"
            else ObjectView(
                version=change.revision,
                uid=str(metadata["uid"]),
                generation=int(metadata.get("generation", 0)),
                is_deleting="deletionTimestamp" in metadata,
            )
        )
        # They change all the time, and depend on the clock alone.
        if change.resource in _UNRECORDED:
            return
        client = change.client or ("user" if change.user_agent.startswith(_USER_AGENT) else "")
        record = ChangeRecord(
            revision=change.revision,
            step=self.step,
            type=change.type,
            resource=change.resource,
            key=change.key,
            uid=str(metadata["uid"]),
            client=client,
            reconcile=change.reconcile,
            owners=tuple(str(owner.get("uid")) for owner in metadata.get("ownerReferences") or ()),
            digest=checksum_object(change.object),
            parts=checksum_parts(change.resource, change.object),
        )
        self.result.changes.append(record)
        by = f" by {client}" if client else ""
        self.add("change", f"{change.type} {change.resource} {change.key}{by}", number=change.revision)
