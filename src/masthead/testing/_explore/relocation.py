"""Faults of a long workload, located again in a run of a part of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import msgspec

from masthead.testing._explore.faults import (
    Answer,
    Crash,
    EarlyStep,
    Edit,
    FailedRead,
    HandOver,
    HeldEvents,
    PlannedFault,
    Restart,
    ServerRestart,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from masthead.testing._explore.trace import ChangeRecord, ReadRecord, RunResult, WriteRecord

__all__ = ["relocate"]

T = TypeVar("T")


def relocate(faults: tuple[PlannedFault, ...], whole: RunResult, part: RunResult) -> tuple[PlannedFault, ...] | None:
    """Locate faults of a run in a run of a part of its workload.

    Returns:
        The faults with the numbers of the other run; None if what they strike does not happen there.
    """
    moved: list[PlannedFault] = []
    for fault in faults:
        found = _relocate_numbers(fault, whole, part)
        # A crash has both: the number of a write, and the revision of a view.
        found = None if found is None else _relocate_view(found, whole, part)
        # With only some of its faults, this would be another schedule.
        if found is None:
            return None
        moved.append(found)
    return tuple(moved)


def _relocate_numbers(fault: PlannedFault, whole: RunResult, part: RunResult) -> PlannedFault | None:
    if isinstance(fault, Crash | Answer | EarlyStep | Edit | HandOver | ServerRestart) and fault.write:
        number = _find(whole.writes, part.writes, fault.write, _identify_write, _number_of)
        return None if number is None else msgspec.structs.replace(fault, write=number)
    if isinstance(fault, Crash):
        # Calls have no records, but their texts are as good.
        calls = [(number, text) for number, text in enumerate(whole.calls, 1)]
        others = [(number, text) for number, text in enumerate(part.calls, 1)]
        number = _find(calls, others, fault.call, lambda call: call[1], lambda call: call[0])
        return None if number is None else msgspec.structs.replace(fault, call=number)
    if isinstance(fault, FailedRead):
        number = _find(whole.reads, part.reads, fault.read, _identify_read, _number_of)
        return None if number is None else msgspec.structs.replace(fault, read=number)
    return fault


def _relocate_view(fault: PlannedFault, whole: RunResult, part: RunResult) -> PlannedFault | None:
    if isinstance(fault, Crash | Restart | HandOver) and fault.view:
        revision = _find_revision(fault.view, whole, part)
        return None if revision is None else msgspec.structs.replace(fault, view=revision)
    if isinstance(fault, HeldEvents):
        revision = _find_revision(fault.revision, whole, part)
        return None if revision is None else msgspec.structs.replace(fault, revision=revision)
    return fault


def _find_revision(revision: int, whole: RunResult, part: RunResult) -> int | None:
    """Return the revision just before the change that followed a revision."""
    # Revisions differ, but the first change that a view hides is the same.
    following = next((change.revision for change in whole.changes if change.revision > revision), None)
    if following is None:
        return None
    found = _find(whole.changes, part.changes, following, _identify_change, _revision_of)
    return None if found is None else found - 1


def _find(
    records: Iterable[T],
    others: Iterable[T],
    number: int,
    identify: Callable[[T], Hashable],
    number_of: Callable[[T], int],
) -> int | None:
    """Return the number of the record among others that is the same record, and as often as before."""
    counts: Counter[Hashable] = Counter()
    wanted: tuple[Hashable, int] | None = None
    for record in records:
        identity = identify(record)
        counts[identity] += 1
        # The n-th of its likes: controllers repeat writes.
        if number_of(record) == number:
            wanted = identity, counts[identity]
            break
    if wanted is None:
        return None
    counts.clear()
    for record in others:
        identity = identify(record)
        counts[identity] += 1
        if wanted == (identity, counts[identity]):
            return number_of(record)
    return None


def _number_of(record: WriteRecord | ReadRecord) -> int:
    return record.number


def _revision_of(change: ChangeRecord) -> int:
    return change.revision


def _identify_write(write: WriteRecord) -> Hashable:
    # Steps keep their numbers when others are left out.
    return write.step, write.controller, write.primary, write.verb, write.resource, write.key


def _identify_read(read: ReadRecord) -> Hashable:
    return read.step, read.controller, read.primary, read.target


def _identify_change(change: ChangeRecord) -> Hashable:
    return change.step, change.type, change.resource, change.key
