"""Leases: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import not_negative
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def lease_errors(lease: Plain) -> Errors:
    """Return the errors of a Lease."""
    spec = part(lease, "spec")
    errors: Errors = []
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    errors += not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    return errors


def _drop_election(lease: Plain) -> None:
    """Forget fields for elections that the server is to hold: that feature is off by default."""
    for field in ("strategy", "preferredHolder"):
        part(lease, "spec").pop(field, None)


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        prepare_create=lambda obj, _allocate: _drop_election(obj),
        prepare_update=lambda new, _old: _drop_election(new),
        validate_create=lease_errors,
        validate_update=lambda new, _old: lease_errors(new),
    )
)
