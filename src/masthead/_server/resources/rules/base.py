"""What a kind's rules are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from masthead._server.wire.failures import FieldError, StatusFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.resources.rules.allocator import Allocator
    from masthead._server.wire.plain import Plain

Errors: TypeAlias = list[FieldError]
"""Findings of a validation, in the order in which the real server reports them."""


def _prepare_nothing(_obj: Plain, _allocate: Allocator) -> None:
    pass


def _finish_nothing(_obj: Plain) -> None:
    pass


def _carry_nothing(_new: Plain, _old: Plain) -> None:
    pass


def _settle_nothing(_new: Plain, _old: Plain, _allocate: Allocator) -> None:
    pass


def _accept(_obj: Plain) -> Errors:
    return []


def _accept_change(_new: Plain, _old: Plain) -> Errors:
    return []


def _admit(_obj: Plain, _allocate: Allocator) -> StatusFailure | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRules:
    """What is special about one kind, on top of what holds for every object.

    On create the order is: `admit_create`, `prepare_create`, `validate_create`, `finish_create`. The object has its name, uid
    and namespace by then, is complete (see ``apply_defaults``) and has no status but what its kind starts with.
    On update it is: `reallocate`, `prepare_update`, `validate_update`; the status is already the old one. On a write
    of the status it is: `prepare_status`, `validate_status`; all but the status is already the old one. Every hook
    sees objects in the shape in which they are stored, whatever version the client speaks.

    Attributes:
        admit_create: Says why an object may not be made, or nothing; some of what it needs it fills in.
        prepare_create: Sets what the server decides. Raises `StatusFailure` if it cannot.
        reallocate: Takes and gives back what the object holds of shared supplies. Raises `StatusFailure` if it cannot.
        prepare_update: Keeps what an update may leave out or cannot change.
        validate_create: Finds what is wrong with a new object.
        validate_update: Finds what is wrong with a change.
        finish_create: Sets what comes only with the reading of what was stored, and so is not checked.
        prepare_status: Sets what the server decides about a status.
        validate_status: Finds what is wrong with a new status.
    """

    admit_create: Callable[[Plain, Allocator], StatusFailure | None] = _admit
    prepare_create: Callable[[Plain, Allocator], None] = _prepare_nothing
    reallocate: Callable[[Plain, Plain, Allocator], None] = _settle_nothing
    prepare_update: Callable[[Plain, Plain], None] = _carry_nothing
    validate_create: Callable[[Plain], Errors] = _accept
    validate_update: Callable[[Plain, Plain], Errors] = _accept_change
    finish_create: Callable[[Plain], None] = _finish_nothing
    prepare_status: Callable[[Plain, Plain, Allocator], None] = _settle_nothing
    validate_status: Callable[[Plain, Plain], Errors] = _accept_change


PLAIN_RULES = KindRules()
"""The rules of a kind that has none."""
