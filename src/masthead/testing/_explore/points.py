"""Where faults can strike: the writes, reads, calls, rests and changes of a run, and their classes."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from masthead.testing._explore.faults import Edit

if TYPE_CHECKING:
    from masthead.testing._explore.trace import ChangeRecord, ObjectView, RunResult, TraceEntry, WriteRecord

__all__ = ["Author", "Points", "StrikePoint", "find_edits"]

Author: TypeAlias = Literal["user", "operator", "cluster"]

_MAX_EDITS: Final = 12
_USER: Final = "user"
_VERB_WEIGHTS: Final = {
    "create": 3.0,
    "delete": 3.0,
    "deletecollection": 3.0,
    "update": 2.0,
    "patch": 1.5,
    "apply": 1.0,
}


class StrikePoint(NamedTuple):
    """How far a run had come when its last fault struck: later faults must lie beyond.

    Attributes:
        step: The step.
        write: The number of the last write before it.
        read: The number of the last live read before it.
        call: The number of the last external call before it.
        revision: The last revision before it.
    """

    step: int = 0
    write: int = 0
    read: int = 0
    call: int = 0
    revision: int = 0


class Points:
    """The points of a run at which a fault can strike."""

    def __init__(self, run: RunResult) -> None:
        self.run = run
        self.steps = len(run.rests)
        watched = set(run.resources)
        self.watched: list[ChangeRecord] = [change for change in run.changes if change.resource in watched]
        self._revisions = [change.revision for change in self.watched]
        self._of_reconcile: defaultdict[str, list[WriteRecord]] = defaultdict(list)
        # Writes outside of reconciles, such as the writes of timers, have no siblings.
        for write in run.writes:
            self._of_reconcile[write.reconcile or f"write {write.number}"].append(write)
        self._replicas = {write.replica for write in run.writes}

    @cached_property
    def start(self) -> StrikePoint:
        """The last strike of the run's own faults; the beginning if there are none."""
        # A fault that never struck leaves no entry.
        remaining = len(self.run.schedule.faults) - len(self.run.unhit)
        current = StrikePoint()
        for entry in self.run.entries if remaining else ():
            current = _advance(current, entry)
            # The end of a fault is in the timeline as well, after all strikes or not.
            remaining -= entry.kind == "fault"
            if not remaining:
                break
        return current

    @cached_property
    def builtin_controllers(self) -> list[str]:
        """The built-in controllers of the cluster that changed something."""
        # Changes before the first step belong to the start of the server.
        names = {change.client for change in self.run.changes if change.step} - self._replicas - {_USER, ""}
        return sorted(names)

    @cached_property
    def concurrent_controllers(self) -> list[str]:
        """The controllers that reconciled several objects in a step."""
        keys: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for write in self.run.writes:
            # The order of keys matters only where a controller has several at a time.
            keys[write.controller, write.step].add(write.primary)
        return sorted({controller for (controller, _), primaries in keys.items() if controller and len(primaries) > 1})

    @cached_property
    def writes_after_activity(self) -> frozenset[int]:
        """The writes with a live read or an external call between them and the previous write of their reconcile."""
        active: set[str] = set()
        found: set[int] = set()
        for entry in self.run.entries:
            if entry.kind in {"read", "external"}:
                active.add(entry.reconcile)
            elif entry.kind == "write":
                if entry.reconcile in active:
                    found.add(entry.number)
                active.discard(entry.reconcile)
        return frozenset(found)

    @cached_property
    def calls(self) -> list[TraceEntry]:
        """The calls of the external system."""
        return [entry for entry in self.run.entries if entry.kind == "external" and entry.number]

    def siblings(self, write: WriteRecord) -> list[WriteRecord]:
        """Return the writes of the same reconcile, with the write itself."""
        return self._of_reconcile[write.reconcile or f"write {write.number}"]

    def is_first(self, write: WriteRecord) -> bool:
        """Tell whether a write is the first of its reconcile."""
        return self.siblings(write)[0] is write

    def weigh(self, write: WriteRecord) -> float:
        """Return how likely a fault at a write is to show a defect."""
        siblings = self.siblings(write)
        weight = _VERB_WEIGHTS.get(write.verb, 1.0)
        # A generated name: the second attempt makes a second object.
        if write.key.endswith("*"):
            weight += 1.5
        # After the last write nothing is left to do; after the first, all the rest is.
        if len(siblings) > 1 and siblings[-1] is not write:
            weight += 1.5 if siblings[0] is write else 1.0
        # A status is written again at the next occasion.
        if "/" in write.resource:
            weight -= 1.0
        # Cleanups run once, and few tests cover them.
        if write.primary_live.is_deleting:
            weight += 0.5
        return weight

    def shape(self, write: WriteRecord) -> tuple[object, ...]:
        """Return what alike writes have in common: the form of their reconcile, and the state of the objects."""
        siblings = self.siblings(write)
        form = tuple((sibling.verb, sibling.resource, sibling.code) for sibling in siblings)
        state = (_state(write.live), _state(write.primary_live), _is_stale(write))
        return (write.controller, form, siblings.index(write), *state)

    def author(self, change: ChangeRecord) -> Author:
        """Return who made a change."""
        if change.client == _USER:
            return "user"
        return "operator" if change.client in self._replicas or change.reconcile else "cluster"

    def kind(self, change: ChangeRecord | None) -> tuple[str, ...]:
        """Return what alike changes have in common."""
        return () if change is None else (change.type, change.resource, self.author(change))

    def changes_of(self, resource: str = "") -> list[ChangeRecord]:
        """Return the changes of one watched resource, or of all."""
        return [change for change in self.watched if not resource or change.resource == resource]

    def hides_a_life(self, first: int, last: int, revision: int = 0, resource: str = "") -> bool:
        """Tell whether an operator that misses some steps never sees an object that a user creates and deletes.

        What it then leaves undone is no defect.

        Args:
            first: The first step.
            last: The last step.
            revision: The last revision that it sees.
            resource: The resource whose changes it misses; empty for all.
        """
        born: set[str] = set()
        # By uid: an object that is created again under its name lives on.
        for change in self.run.changes:
            if change.revision <= revision or not first <= change.step <= last:
                continue
            if resource and change.resource != resource:
                continue
            # Objects of the operator follow from those of users.
            if change.type == "ADDED" and self.author(change) == "user":
                born.add(change.uid)
            elif change.type == "DELETED" and change.uid in born:
                return True
        return False

    def previous_watched(self, revision: int) -> ChangeRecord | None:
        """Return the last watched change up to a revision."""
        index = bisect_right(self._revisions, revision)
        return self.watched[index - 1] if index else None

    def rest(self, step: int) -> int:
        """Return the revision at the end of a step; of the last one, if there are fewer."""
        return self.run.rests[min(step, self.steps) - 1] if self.steps and step > 0 else 0


def find_edits(reference: RunResult) -> list[Edit]:
    """Return edits of the operator's objects at the end of the step of their creation, if they live until the end."""
    written = {(write.resource.partition("/")[0], write.key) for write in reference.writes}
    born: dict[tuple[str, str], int] = {}
    for change in reference.changes:
        if change.type == "ADDED":
            # There is no rest before the end of the first step.
            born[change.resource, change.key] = max(change.step, 1)
    return [
        Edit(0, step, resource, key)
        for (resource, key), step in born.items()
        if (resource, key) in written and key in reference.objects.get(resource, {})
    ][:_MAX_EDITS]


def _advance(point: StrikePoint, entry: TraceEntry) -> StrikePoint:
    """Return the point of a run after an entry of its timeline."""
    # Requests run concurrently, so that entries may not be in the order of their numbers.
    point = point._replace(step=max(point.step, entry.step))
    if entry.kind == "write":
        return point._replace(write=max(point.write, entry.number))
    if entry.kind == "read":
        return point._replace(read=max(point.read, entry.number))
    if entry.kind == "external":
        return point._replace(call=max(point.call, entry.number))
    if entry.kind == "change":
        return point._replace(revision=max(point.revision, entry.number))
    return point


def _state(view: ObjectView) -> str:
    return "absent" if not view.version else "deleting" if view.is_deleting else "present"


def _is_stale(write: WriteRecord) -> bool:
    seen = write.primary_seen
    return seen is not None and (seen.uid, seen.generation) != (write.primary_live.uid, write.primary_live.generation)
