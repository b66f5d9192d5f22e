"""Smaller schedules: with fewer and weaker faults, and with a shorter workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    HandOver,
    HeldEvents,
    PlannedFault,
    Restart,
    SlowController,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead.testing._explore.schedule import Schedule

__all__ = ["shorten", "skip_steps", "weaken"]

_MAX_VARIANTS: Final = 24


def weaken(schedule: Schedule, resources: Sequence[str] = ()) -> list[Schedule]:
    """Return schedules with fewer faults, and then with weaker ones: smallest first.

    Args:
        schedule: The schedule.
        resources: The resources that the operator watches.
    """
    variants: list[Schedule] = []
    # An unnecessary fault misleads the reader more than a strong one, so remove faults first.
    if len(schedule.faults) > 1:
        variants += [
            _with_faults(schedule, (*schedule.faults[:index], *schedule.faults[index + 1 :]))
            for index in range(len(schedule.faults))
        ]
    for index, fault in enumerate(schedule.faults):
        for weaker in _weaker_faults(fault, resources):
            faults = (*schedule.faults[:index], weaker, *schedule.faults[index + 1 :])
            # The same fault cannot strike twice at one point.
            if len(set(faults)) == len(faults):
                variants.append(_with_faults(schedule, faults))
    return variants[:_MAX_VARIANTS]


def shorten(schedule: Schedule, last_step: int, steps: int) -> list[Schedule]:
    """Return schedules whose workload ends earlier: shortest first.

    Args:
        schedule: The schedule.
        last_step: The step in which the last fault strikes.
        steps: The number of steps of the whole workload.
    """
    # The workload must still reach the last strike and the end of every fault.
    first = max([last_step, 1, *(getattr(fault, "last", 0) for fault in schedule.faults)])
    end = schedule.steps or steps
    return [msgspec.structs.replace(schedule, steps=step) for step in range(first, end)][:_MAX_VARIANTS]


def skip_steps(schedule: Schedule, steps: int) -> list[Schedule]:
    """Return schedules without one more step of a list; steps of its faults remain."""
    # Without its step, a fault never strikes.
    needed = {getattr(fault, name, 0) for fault in schedule.faults for name in ("step", "first")}
    end = schedule.steps or steps
    return [
        msgspec.structs.replace(schedule, skipped=tuple(sorted({*schedule.skipped, step})))
        for step in range(1, end + 1)
        if step not in schedule.skipped and step not in needed
    ][:_MAX_VARIANTS]


def _with_faults(schedule: Schedule, faults: tuple[PlannedFault, ...]) -> Schedule:
    return msgspec.structs.replace(schedule, faults=faults)


def _weaker_faults(fault: PlannedFault, resources: Sequence[str]) -> Iterator[PlannedFault]:
    match fault:
        case Crash() | Restart() | HandOver() if fault.view:
            yield from _weaker_views(fault, resources)
        case HeldEvents():
            if fault.is_lost:
                yield msgspec.structs.replace(fault, is_lost=False)
            if fault.last > 1:
                yield msgspec.structs.replace(fault, last=fault.last - 1)
        case Absence() if fault.last > fault.first:
            yield msgspec.structs.replace(fault, last=fault.last - 1)
            yield msgspec.structs.replace(fault, first=fault.first + 1)
        case Answer() if fault.times > 1:
            yield msgspec.structs.replace(fault, times=1)
        case SlowController() if fault.seconds > 2:
            yield msgspec.structs.replace(fault, seconds=fault.seconds // 4)
        case _:
            return


def _weaker_views(fault: Crash | Restart | HandOver, resources: Sequence[str]) -> Iterator[PlannedFault]:
    changes: dict[str, object] = {"view": 0, "resources": ()}
    if isinstance(fault, Crash | Restart):
        changes["last"] = 0
    # If a current view shows the defect as well, staleness is not its cause.
    yield msgspec.structs.replace(fault, **changes)
    if isinstance(fault, Crash | Restart) and fault.last:
        yield msgspec.structs.replace(fault, last=0)
    # With one resource the reader sees immediately which cache is stale.
    if len(fault.resources) != 1 and len(resources) > 1:
        for resource in resources:
            yield msgspec.structs.replace(fault, resources=(resource,))
