"""FaultCandidate faults: what could go wrong in a run, learnt from what happened in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    Edit,
    FailedRead,
    HandOver,
    HeldEvents,
    OtherKeyOrder,
    PlannedFault,
    Restart,
    ServerRestart,
    SlowController,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead.testing._explore.points import Points
    from masthead.testing._explore.trace import ChangeRecord, WriteRecord

__all__ = ["FAMILIES", "FaultCandidate", "Family", "find_candidates"]

Family: TypeAlias = Literal[
    "crash",
    "crash before",
    "crash stale",
    "restart",
    "stale",
    "mixed stale",
    "hold",
    "hold lost",
    "absence",
    "lost",
    "conflict",
    "error",
    "read",
    "early step",
    "edit",
    "server",
    "hand over",
    "order",
    "slow",
]

FAMILIES: Final[dict[Family, float]] = {
    "crash": 3.0,
    "stale": 3.0,
    "hold": 3.0,
    "absence": 2.0,
    "early step": 2.0,
    "lost": 1.5,
    "crash before": 1.5,
    "mixed stale": 1.5,
    "crash stale": 1.5,
    "error": 1.2,
    "conflict": 1.0,
    "edit": 1.0,
    "hold lost": 1.0,
    "restart": 1.0,
    "read": 1.0,
    "hand over": 1.0,
    "order": 0.7,
    "slow": 0.7,
    "server": 0.4,
}
"""The families of faults, and their shares of the schedules."""

_ERRORS: Final = (("500", 0.5), ("503", 0.4), ("429", 0.2), ("403", 0.1))
_MAX_HOLD_STEPS: Final = 3
"""The maximum number of further steps until a view or an event is released."""
_MAX_VIEWS: Final = 200
"""The maximum number of revisions at which a view is frozen, per step and resource."""


class FaultCandidate(msgspec.Struct, frozen=True, array_like=True):
    """A fault that could strike.

    Attributes:
        fault: The fault.
        family: The kind of fault.
        place: Where it strikes: defects at the same place are likely the same.
        shape: What it has in common with its likes.
        weight: How likely it shows a defect, in comparison with others of its family.
    """

    fault: PlannedFault
    family: Family
    place: str
    shape: str
    weight: float


def find_candidates(points: Points, *, has_election: bool = False) -> Iterator[FaultCandidate]:
    """Generate all single faults that could strike after the faults of a run."""
    yield from _at_writes(points, has_election=has_election)
    yield from _at_calls(points)
    yield from _at_reads(points)
    yield from _at_rests(points)
    yield from _held_events(points)
    yield from _absences(points)
    yield from _global_faults(points)


def _make(
    fault: PlannedFault, family: Family, place: Sequence[object], shape: Sequence[object], weight: float
) -> FaultCandidate:
    return FaultCandidate(fault, family, " ".join(map(str, place)), f"{family} {shape!r}", weight)


def _at_writes(points: Points, *, has_election: bool) -> Iterator[FaultCandidate]:
    for write in points.run.writes:
        if write.number <= points.start.write:
            continue
        shape = points.shape(write)
        place = (write.controller, write.verb, write.resource)
        weight = points.weigh(write)
        # After storing and after answering are the same to the successor: one of them is enough.
        yield _make(Crash(write.number), "crash", place, shape, weight)
        # Otherwise a crash before this write is a crash after the previous one.
        if points.is_first(write) or write.number in points.writes_after_activity:
            extra = 1.0 if write.number in points.writes_after_activity else -1.0
            yield _make(Crash(write.number, "before"), "crash before", place, shape, weight + extra)
        yield from _answers(write, place, shape, weight)
        # There must be an object to edit.
        if write.live.version and write.verb != "create":
            yield _make(Edit(write.number), "edit", place, shape, weight + (1.0 if write.verb == "update" else 0.0))
        # The last step has no successor.
        if write.step < points.steps:
            yield _make(EarlyStep(write.number), "early step", place, (*shape, write.step), weight)
        yield _make(ServerRestart(write.number), "server", place, shape, weight)
        if has_election:
            yield _make(HandOver(write.number), "hand over", place, shape, weight)
        yield from _stale_crashes(points, write, has_election=has_election)


def _answers(
    write: WriteRecord, place: Sequence[object], shape: Sequence[object], weight: float
) -> Iterator[FaultCandidate]:
    yield _make(Answer(write.number, "lost"), "lost", place, shape, weight)
    if write.verb != "create":
        # Optimistic concurrency concerns writes that carry a resource version; an apply seldom does.
        extra = 1.0 if write.verb == "update" else 0.0
        yield _make(Answer(write.number, "conflict"), "conflict", place, shape, weight + extra)
    for outcome, extra in _ERRORS:
        yield _make(Answer(write.number, outcome), "error", place, (outcome, *shape), weight + extra)


def _stale_crashes(points: Points, write: WriteRecord, *, has_election: bool) -> Iterator[FaultCandidate]:
    """Generate crashes whose successor does not see the write, the reconcile, or the current and earlier steps."""
    place = (write.controller, write.verb, write.resource)
    first = points.siblings(write)[0]
    views = {"write": write.revision, "reconcile": first.revision}
    views |= {f"{write.step - step} steps": points.rest(step) for step in range(write.step - 1, 0, -1)}
    resource = write.resource.partition("/")[0]
    seen: set[int] = set()
    for distance, (name, view) in enumerate(views.items()):
        # Equal views give equal runs.
        if view in seen or not view:
            continue
        seen.add(view)
        # A cache is more often late by a few changes than by whole steps.
        weight = points.weigh(write) - distance * 0.3
        shape = (name, points.kind(points.previous_watched(view)), *points.shape(write))
        yield _make(Crash(write.number, view=view), "crash stale", place, shape, weight)
        if resource in points.run.resources and len(points.run.resources) > 1:
            fault = Crash(write.number, view=view, resources=(resource,))
            yield _make(fault, "crash stale", place, (resource, *shape), weight - 0.5)
        if write.step < points.steps:
            fault = Crash(write.number, view=view, last=write.step + 1)
            yield _make(fault, "crash stale", place, ("next", *shape), weight - 1.0)
        if has_election:
            yield _make(HandOver(write.number, view=view), "hand over", place, shape, weight)


def _at_calls(points: Points) -> Iterator[FaultCandidate]:
    for call in points.calls:
        if call.number > points.start.call:
            name = call.text.partition("(")[0]
            place, shape = ("external", name), (name, call.step)
            # No API server remembers an external call: an operator that does not either will repeat it.
            yield _make(Crash(0, "stored", call=call.number), "crash", place, shape, 5.0)
            yield _make(Crash(0, "before", call=call.number), "crash before", place, shape, 2.0)


def _at_reads(points: Points) -> Iterator[FaultCandidate]:
    for read in points.run.reads:
        if read.number > points.start.read:
            path = read.target.partition("?")[0]
            # Reads of different objects of a kind are alike.
            kind = path.rpartition("/")[0] if read.primary else path
            yield _make(
                FailedRead(read.number), "read", (read.controller, kind), (read.controller, kind, read.code), 1.0
            )


def _at_rests(points: Points) -> Iterator[FaultCandidate]:
    start = max(points.start.step, 1)
    for step in range(start, points.steps + 1):
        yield _make(Restart(step), "restart", ("restart", step), (step,), 1.0)
        yield _make(ServerRestart(0, step), "server", ("rest",), (step,), 1.0)
        for resource in ("", *points.run.resources):
            # The view of an only resource is the view of all.
            if resource and len(points.run.resources) == 1:
                continue
            yield from _stale_restarts(points, step, resource)


def _stale_restarts(points: Points, step: int, resource: str) -> Iterator[FaultCandidate]:
    """Generate restarts at the end of a step with a view of one resource, or of all, that lacks the latest changes."""
    family: Family = "mixed stale" if resource else "stale"
    resources = (resource,) if resource else ()
    for view in _views(points, [change for change in points.changes_of(resource) if change.step <= step]):
        for extra in range(min(points.steps - step, _MAX_HOLD_STEPS) + 1):
            fault = Restart(step, view.revision, resources, step + extra if extra else 0)
            shape = (resource, extra, step == points.steps, *view.shape)
            yield _make(fault, family, (family, *points.kind(view.first)), shape, view.weight - extra)


class _View(NamedTuple):
    """A view that lacks some changes.

    Attributes:
        revision: The last visible revision.
        first: The first invisible change.
        length: The number of invisible changes.
        shape: What it has in common with its likes.
        weight: How likely it shows a defect.
    """

    revision: int
    first: ChangeRecord
    length: int
    shape: tuple[object, ...]
    weight: float


def _views(points: Points, changes: list[ChangeRecord]) -> list[_View]:
    """Return the views that end just before one of some changes, likeliest first.

    Missed deletions and re-creations, and changes of a user at the end, come first.
    """
    views: list[_View] = []
    kinds: set[tuple[str, ...]] = set()
    added: set[tuple[str, str]] = set()
    is_missing_deletion = is_missing_recreation = False
    # From the end, so that what a view lacks grows by one change at a time.
    for index in range(len(changes) - 1, -1, -1):
        change = changes[index]
        # Objects from before the first step have no author.
        if not change.step:
            break
        previous = changes[index - 1] if index else None
        kinds.add(points.kind(change)[:2])
        if change.type == "ADDED":
            added.add((change.resource, change.key))
        elif change.type == "DELETED":
            is_missing_deletion = True
            # Seen from the end, an addition before a deletion is a new object of the same name.
            is_missing_recreation |= (change.resource, change.key) in added
        weight = (
            2.0 * (previous is not None and points.author(previous) == "user")
            + 1.5 * (points.author(change) == "user")
            + 2.0 * is_missing_deletion
            + 1.5 * is_missing_recreation
        )
        shape = (points.kind(previous), points.kind(change), tuple(sorted(kinds)))
        views.append(_View(change.revision - 1, change, len(changes) - index, shape, weight))
    # In the order of the run, which the stable sort keeps among equals.
    views.reverse()
    views.sort(key=_by_weight)
    return views[:_MAX_VIEWS]


def _by_weight(view: _View) -> float:
    return -view.weight


def _held_events(points: Points) -> Iterator[FaultCandidate]:
    for resource in points.run.resources:
        changes = points.changes_of(resource)
        for step in range(max(points.start.step, 1), points.steps + 1):
            for last in range(step, min(points.steps, step + _MAX_HOLD_STEPS) + 1):
                span = [change for change in changes if change.step <= last]
                views = [view for view in _views(points, span) if view.first.step == step]
                for view in views:
                    is_hidden = points.hides_a_life(step, last, view.revision, resource)
                    if view.revision >= points.start.revision and not is_hidden:
                        yield from _holds(points, resource, view, last)


def _holds(points: Points, resource: str, view: _View, last: int) -> Iterator[FaultCandidate]:
    first = view.first
    distance = last - first.step
    # A cache without the operator's own new objects is what makes it create them twice.
    is_own = points.author(first) == "operator" and first.type == "ADDED"
    weight = view.weight + (2.0 if is_own else 0.0) - distance * 0.5
    place = ("hold", *points.kind(first))
    shape = (resource, distance, last == points.steps, *view.shape)
    yield _make(HeldEvents(resource, view.revision, last), "hold", place, shape, weight)
    if view.length > 1:
        yield _make(HeldEvents(resource, view.revision, last, is_lost=True), "hold lost", place, shape, weight)


def _absences(points: Points) -> Iterator[FaultCandidate]:
    for first in range(max(points.start.step + 1, 1), points.steps + 1):
        for last in range(first, points.steps + 1):
            # All longer absences hide the object as well.
            if points.hides_a_life(first, last):
                break
            changes = [
                change
                for change in points.run.changes
                if first <= change.step <= last and points.author(change) == "user"
            ]
            # After a missed deletion, no object is left to remind the operator of its cleanup.
            weight = min(last - first, 2) + (1.0 if any(change.type == "DELETED" for change in changes) else 0.0)
            yield _make(Absence(first, last), "absence", ("down", first), ("down", first, last), weight)
            fault = Absence(first, last, "workers")
            yield _make(fault, "absence", ("workers", first), ("workers", first, last), weight - 0.5)


def _global_faults(points: Points) -> Iterator[FaultCandidate]:
    # They act from the beginning, so that they cannot follow another fault.
    if points.run.schedule.faults:
        return
    if points.concurrent_controllers:
        yield _make(OtherKeyOrder("lifo"), "order", ("order",), ("lifo",), 1.0)
        yield _make(OtherKeyOrder("random"), "order", ("order",), ("random",), 1.0)
    for name in points.builtin_controllers:
        yield _make(SlowController(name), "slow", (name,), (name,), 1.0)
