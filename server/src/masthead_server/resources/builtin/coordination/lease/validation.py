"""Validation of Leases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import invalid
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
