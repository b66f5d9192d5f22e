"""Helpers for ``status.conditions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from masthead._meta.wall_clock import read_wall_clock
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSequence
    from datetime import datetime

    from masthead._meta.time import Time
    from masthead._meta.v1 import ConditionStatus


@set_module("masthead.meta")
class ConditionLike(Protocol):
    """A condition of any kind: those of pods, nodes and custom resources have types of their own."""

    # Read-only here, because an attribute could only be matched by exactly the same type.
    @property
    def type(self) -> str:
        """The aspect that the condition describes."""
        ...

    @property
    def status(self) -> str:
        """True, False or Unknown."""
        ...


class TimestampedCondition(ConditionLike, Protocol):
    """A condition with a transition time."""

    last_transition_time: Time | None

    def copy(self) -> Self:
        """Return an independent copy."""
        ...


C = TypeVar("C", bound=ConditionLike)
S = TypeVar("S", bound=TimestampedCondition)


@set_module("masthead.meta")
def find_condition(conditions: Iterable[C], type_: str) -> C | None:
    """Return the condition of a type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


@set_module("masthead.meta")
def is_condition_true(conditions: Iterable[ConditionLike], type_: str) -> bool:
    """Whether a condition exists and is True."""
    return has_condition_status(conditions, type_, "True")


@set_module("masthead.meta")
def is_condition_false(conditions: Iterable[ConditionLike], type_: str) -> bool:
    """Whether a condition exists and is False."""
    return has_condition_status(conditions, type_, "False")


@set_module("masthead.meta")
def has_condition_status(conditions: Iterable[ConditionLike], type_: str, status: ConditionStatus) -> bool:
    """Whether a condition exists and has this status."""
    found = find_condition(conditions, type_)
    return found is not None and found.status == status


@set_module("masthead.meta")
def set_condition(conditions: MutableSequence[S], wanted: S, *, now: datetime | None = None) -> bool:
    """Add a condition to a list, or replace the one of its type.

    The transition time changes only with the status: to the one of `wanted`, or to now.

    Args:
        conditions: The list to modify.
        wanted: The condition; it is not modified.
        now: The time of a transition, truncated to seconds as in the API; None for the current time.

    Returns:
        Whether anything changed; if not, a controller need not update the object.
    """
    standing = find_condition(conditions, wanted.type)
    stamped = _copy_condition(wanted)
    if standing is not None and standing.status == wanted.status:
        stamped.last_transition_time = standing.last_transition_time
    else:
        transition = (now or read_wall_clock()).replace(microsecond=0)
        stamped.last_transition_time = wanted.last_transition_time or transition
    if standing is None:
        conditions.append(stamped)
        return True
    if stamped == standing:
        return False
    conditions[conditions.index(standing)] = stamped
    return True


def _copy_condition(wanted: S) -> S:
    """Return a copy that encodes reason and message even if empty: custom resources require them."""
    stamped = wanted.copy()
    for name in ("reason", "message"):
        if (value := getattr(wanted, name, None)) is not None:
            setattr(stamped, name, value)
    return stamped


@set_module("masthead.meta")
def remove_condition(conditions: MutableSequence[C], type_: str) -> bool:
    """Remove a condition from a list; return whether it existed."""
    kept = [condition for condition in conditions if condition.type != type_]
    removed = len(kept) != len(conditions)
    if removed:
        conditions[:] = kept
    return removed
