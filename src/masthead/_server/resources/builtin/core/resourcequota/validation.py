"""Validation of ResourceQuotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead._server.resources.validation.checks import words
from masthead._server.resources.validation.resource_requirements import (
    FOR_QUOTAS,
    quota_name_errors,
    value_errors,
)
from masthead._server.wire.plain import part

if TYPE_CHECKING:
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_OF_PODS: Final = frozenset(
    {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
)
_SCOPES: Final = {
    **dict.fromkeys(
        ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
        _OF_PODS,
    ),
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""What a quota with a scope may bound."""


def quota_errors(quota: Plain) -> Errors:
    """Return the errors of a ResourceQuota."""
    spec = part(quota, "spec")
    errors: Errors = []
    for name, value in part(spec, "hard").items():
        path = f"spec.hard[{name}]"
        errors += quota_name_errors(path, name) + value_errors(path, name, value)
    scopes = words(spec, "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
            continue
        # One error for each such resource, all with the same text.
        apart = [name for name in part(spec, "hard") if name in FOR_QUOTAS and name not in _SCOPES[scope]]
        errors += [invalid("spec.scopes", scopes, "unsupported scope applied to resource") for _ in apart]
    for pair in ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}):
        if pair <= set(scopes):
            errors.append(invalid("spec.scopes", scopes, "conflicting scopes"))
    return errors


def quota_status_errors(new: Plain, _old: Plain) -> Errors:
    """Return the errors of the status of a ResourceQuota."""
    errors: Errors = []
    for side in ("hard", "used"):
        for name, value in sorted(part(part(new, "status"), side).items()):
            path = f"status.{side}[{name}]"
            errors += quota_name_errors(path, name) + value_errors(path, name, value)
    return errors


def quota_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a ResourceQuota."""
    now, then = (words(part(each, "spec"), "scopes") for each in (new, old))
    errors = quota_errors(new)
    return errors if set(now) == set(then) else [*errors, invalid("spec.scopes", now, "field is immutable")]
