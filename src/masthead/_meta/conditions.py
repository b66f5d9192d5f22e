"""Helpers for ``status.conditions``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar

from masthead._meta.wall_clock import read_wall_clock
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSequence
    from datetime import datetime

    from masthead._meta.time import Time
    from masthead._meta.v1 import ConditionStatus

# The constraints of metav1.Condition, which definitions of custom resources repeat.
STATUSES: Final = ("True", "False", "Unknown")
TYPE_PATTERN: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
REASON_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
MAX_TYPE: Final = 316
MAX_REASON: Final = 1_024
MAX_MESSAGE: Final = 32_768


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


def check_condition(type_: object, status: object, reason: object) -> None:
    """Check the type, the status and the reason of a condition, as the server does for most kinds.

    Raises:
        ArgumentError: If one is invalid.
    """
    if status not in STATUSES:
        raise ArgumentError(
            f'the status of the condition {type_!r} is {status!r}; it must be True, False or "Unknown"', value=status
        )
    if not _matches(TYPE_PATTERN, MAX_TYPE, type_):
        raise ArgumentError(
            f'the type of a condition is {type_!r}; it must be one word such as "Ready" or "example.com/Ready"',
            value=type_,
        )
    if not _matches(REASON_PATTERN, MAX_REASON, reason):
        raise ArgumentError(
            f"the reason of the condition {type_!r} is {reason!r}; it must be one CamelCase word for programs, such as "
            '"Deployed": text for people is the message',
            value=reason,
        )


def _matches(pattern: str, max_length: int, value: object) -> bool:
    # fullmatch, because "$" also matches before a line break at the end.
    return isinstance(value, str) and len(value) <= max_length and re.fullmatch(pattern, value) is not None
