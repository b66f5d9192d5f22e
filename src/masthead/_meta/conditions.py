"""Conditions: what every controller does with ``status.conditions``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSequence

    from masthead._meta.time import Time
    from masthead._meta.v1 import ConditionStatus


class ConditionLike(Protocol):
    """Any kind's condition: those of pods, nodes and custom resources have types of their own."""

    type: str
    status: str


class TimestampedCondition(ConditionLike, Protocol):
    """A condition that knows since when it is so."""

    last_transition_time: Time | None

    def copy(self) -> Self:
        """An independent copy."""
        ...


C = TypeVar("C", bound=ConditionLike)
S = TypeVar("S", bound=TimestampedCondition)


def find_condition(conditions: Iterable[C], type_: str) -> C | None:
    """The condition of a type, or None."""
    return next((each for each in conditions if each.type == type_), None)


def is_condition_true(conditions: Iterable[ConditionLike], type_: str) -> bool:
    """Whether a condition is there and True; an absent one is not."""
    return has_condition_status(conditions, type_, "True")


def is_condition_false(conditions: Iterable[ConditionLike], type_: str) -> bool:
    """Whether a condition is there and False; an absent one is not."""
    return has_condition_status(conditions, type_, "False")


def has_condition_status(conditions: Iterable[ConditionLike], type_: str, status: ConditionStatus) -> bool:
    """Whether a condition is there and has this status."""
    found = find_condition(conditions, type_)
    return found is not None and found.status == status


def set_condition(conditions: MutableSequence[S], wanted: S, *, now: datetime | None = None) -> bool:
    """Put a condition into a list, in the place of the one of its type.

    The time of the last transition moves only when the status does: to the time that `wanted` brings, or to now.

    Args:
        conditions: The list to change.
        wanted: What to say; stays as it is.
        now: The time to note for a transition, cut to the second as the API has it; None for the present time.

    Returns:
        Whether anything changed, so that a controller can save itself an update.
    """
    standing = find_condition(conditions, wanted.type)
    stamped = _said_in_full(wanted)
    if standing is not None and standing.status == wanted.status:
        stamped.last_transition_time = standing.last_transition_time
    else:
        transition = (now or datetime.now(UTC)).replace(microsecond=0)
        stamped.last_transition_time = wanted.last_transition_time or transition
    if standing is None:
        conditions.append(stamped)
        return True
    if stamped == standing:
        return False
    conditions[conditions.index(standing)] = stamped
    return True


def _said_in_full(wanted: S) -> S:
    """A copy that writes its reason and message even if they are empty: custom resources require them."""
    stamped = wanted.copy()
    for name in ("reason", "message"):
        if (said := getattr(wanted, name, None)) is not None:
            setattr(stamped, name, said)
    return stamped


def remove_condition(conditions: MutableSequence[C], type_: str) -> bool:
    """Take a condition out of a list; returns whether it was there."""
    kept = [each for each in conditions if each.type != type_]
    removed = len(kept) != len(conditions)
    if removed:
        conditions[:] = kept
    return removed
