"""What happened in a run."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from masthead._meta import typeinfo
from masthead._module import set_module
from masthead.testing._explore.faults import PlannedFault
from masthead.testing._explore.schedule import Schedule

__all__ = [
    "ChangeRecord",
    "EntryKind",
    "ObjectView",
    "ReadRecord",
    "RunResult",
    "TraceEntry",
    "Violation",
    "WriteRecord",
]

EntryKind: TypeAlias = Literal[
    "step", "rest", "replica", "reconcile", "read", "write", "change", "external", "fault", "failure"
]


class TraceEntry(msgspec.Struct, frozen=True):
    """One line of the timeline of a run.

    Attributes:
        time: Virtual seconds since the start of the run.
        kind: What it is.
        text: A description.
        step: The current step of the workload, from 1; 0 before the first.
        replica: The replica; empty for others.
        reconcile: The id of the reconcile; empty for none.
        number: The number of the write, read or call; the revision of a change.
    """

    time: float
    kind: EntryKind
    text: str
    step: int
    replica: str = ""
    reconcile: str = ""
    number: int = 0


class ObjectView(msgspec.Struct, frozen=True):
    """An object at some moment, as far as it matters for decisions.

    Attributes:
        version: The resource version as a number; 0 if there is no such object.
        uid: The uid.
        generation: The generation.
        is_deleting: Whether it has a deletion timestamp.
    """

    version: int = 0
    uid: str = ""
    generation: int = 0
    is_deleting: bool = False


class WriteRecord(msgspec.Struct, frozen=True):
    """A write of the operator, except of Leases and Events.

    Attributes:
        number: Its number in the run, from 1.
        step: The step.
        replica: The sending replica.
        verb: As in `masthead.testing.Write`.
        resource: As in `masthead.testing.Write`.
        key: As in `masthead.testing.Write`.
        code: The status code; 0 without a response.
        controller: The controller of its reconcile; empty outside of reconciles.
        primary: The key of the reconciled object.
        reconcile: The id of the reconcile.
        revision: The revision of the server when the write was sent.
        seen: The object of the write in the cache of the replica; None if the kind is not cached.
        live: The object of the write on the server.
        primary_seen: The reconciled object at the start of the reconcile; None outside of reconciles.
        primary_live: The reconciled object on the server.
        is_leading: Whether the replica held its lease, by the lease object of the server; True without an election.
        body: The start of the body.
    """

    number: int
    step: int
    replica: str
    verb: str
    resource: str
    key: str
    code: int
    controller: str = ""
    primary: str = ""
    reconcile: str = ""
    revision: int = 0
    seen: ObjectView | None = None
    live: ObjectView = ObjectView()
    primary_seen: ObjectView | None = None
    primary_live: ObjectView = ObjectView()
    is_leading: bool = True
    body: bytes = b""

    def __str__(self) -> str:
        outcome = "" if 200 <= self.code < 300 else f" ({self.code or 'no response'})"
        return f"{self.verb} {self.resource} {self.key}{outcome}"


class ReadRecord(msgspec.Struct, frozen=True):
    """A live read of a reconcile.

    Attributes:
        number: Its number in the run, from 1.
        step: The step.
        replica: The sending replica.
        target: The path and query.
        code: The status code; 0 without a response.
        controller: The controller of its reconcile.
        primary: The key of the reconciled object.
    """

    number: int
    step: int
    replica: str
    target: str
    code: int
    controller: str = ""
    primary: str = ""


class ChangeRecord(msgspec.Struct, frozen=True):
    """A change of the store.

    Attributes:
        revision: Its revision.
        step: The step.
        type: ``ADDED``, ``MODIFIED`` or ``DELETED``.
        resource: The resource, such as ``deployments.apps``.
        key: The object.
        uid: The uid of the object.
        client: The replica; ``user`` for the workload; else the name of a built-in controller, or empty.
        reconcile: ``CONTROLLER KEY ID``; empty outside of reconciles.
        owners: The uids of the owners.
        digest: A checksum of all but times and versions.
        parts: Checksums of texts that may be generated, by field: ``data.password``.
    """

    revision: int
    step: int
    type: str
    resource: str
    key: str
    uid: str
    client: str = ""
    reconcile: str = ""
    owners: tuple[str, ...] = ()
    digest: int = 0
    parts: dict[str, int] = {}


class Violation(msgspec.Struct, frozen=True):
    """A violated invariant.

    Attributes:
        invariant: The name of its function.
        message: The problem.
        revision: The revision of the server.
        step: The step.
        is_at_rest: Whether all was idle.
    """

    invariant: str
    message: str
    revision: int = 0
    step: int = 0
    is_at_rest: bool = True

    @property
    def moment(self) -> str:
        """The moment, in words."""
        return f"at rest after step {self.step}" if self.is_at_rest else f"at revision {self.revision}"


class RunResult(msgspec.Struct):
    """All that is known about a run.

    Attributes:
        schedule: The schedule.
        entries: The timeline.
        writes: The writes of the operator.
        reads: The live reads of its reconciles.
        changes: The changes of the store, without Leases and Events.
        objects: The objects at the end, by resource and key.
        rests: The revision at the end of each step, after its rest.
        states: The objects at the end of each step, if they were asked for.
        resources: The resources that the operator watches.
        failures: Functions whose last call failed, as in `Environment.failures`.
        problem: Why the run did not become idle, or why the operator did not run; empty if it did.
        workload_error: The error of the workload; empty if it ended.
        is_delayed: Whether steps began although the operator had not caught up, so that the workload's error may be due
            to that.
        unhit: The faults that never struck.
        later_changes: The changes of the operator after a restart at the end, if it was asked for: none if it is
            idempotent.
        calls: Calls of the external system.
        external: The state of the external system at the end.
        violations: The violated invariants.
        notes: Remarks about the run for its reader.
    """

    schedule: Schedule
    entries: list[TraceEntry] = []
    writes: list[WriteRecord] = []
    reads: list[ReadRecord] = []
    changes: list[ChangeRecord] = []
    objects: dict[str, dict[str, Any]] = {}
    rests: list[int] = []
    states: list[dict[str, dict[str, Any]]] = []
    resources: list[str] = []
    failures: list[str] = []
    problem: str = ""
    workload_error: str = ""
    is_delayed: bool = False
    unhit: list[PlannedFault] = []
    later_changes: list[ChangeRecord] = []
    calls: list[str] = []
    external: Any = None
    violations: list[Violation] = []
    notes: list[str] = []


typeinfo.msgpack_decoder(RunResult)

# Only now: msgspec has looked up the types of all fields in the modules of their classes.
for _public in (ChangeRecord, ObjectView, ReadRecord, RunResult, TraceEntry, Violation, WriteRecord):
    set_module("masthead.testing.exploration")(_public)
