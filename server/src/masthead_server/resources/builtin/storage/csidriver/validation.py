"""Validation of CSIDrivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.validation.checks import (
    each_of,
    immutable,
    known_or_nothing,
    unique,
    unsupported,
    words,
)
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def driver_errors(driver: Plain) -> Errors:
    """Return the errors of a CSIDriver."""
    spec = part(driver, "spec")
    known = ("File", "None", "ReadWriteOnceWithFSType")
    errors = known_or_nothing("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), known)
    seen: set[str] = set()
    for at, request in each_of(spec, "tokenRequests", "spec"):
        errors += unique(f"{at}.audience", text(request, "audience"), seen)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            why = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{at}.expirationSeconds", seconds, why))
    for mode in words(spec, "volumeLifecycleModes"):
        if mode not in _LIVES:
            errors.append(unsupported("spec.volumeLifecycleModes", mode, _LIVES))
    seconds = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if seconds is not None and seconds < 10:
        why = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", seconds, why))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, why))
    return errors


_LIVES: Final = ("Persistent", "Ephemeral")


def driver_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a CSIDriver."""
    after, before = part(new, "spec"), part(old, "spec")
    field = "attachRequired"
    errors = driver_errors(new) + immutable("spec.attachedRequired", after.get(field), before.get(field))
    field = "volumeLifecycleModes"
    return errors + immutable(f"spec.{field}", after.get(field), before.get(field))
