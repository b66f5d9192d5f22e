"""Validation of Namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import invalid
from masthead_server.resources import names
from masthead_server.resources.validation.checks import follows, words
from masthead_server.resources.validation.metadata import KNOWN_FINALIZERS
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def namespace_errors(namespace: Plain) -> Errors:
    """Return the errors of a new namespace."""
    errors: Errors = []
    path = "spec.finalizers"
    for name in words(part(namespace, "spec"), "finalizers"):
        errors += follows(path, name, names.qualified_name)
        if "/" not in name and name not in KNOWN_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid(path, name, why))
    return errors


def namespace_status_errors(new: Plain, _old: Plain) -> Errors:
    """Validate the phase of a namespace: it says whether it is being deleted, and nothing else."""
    phase, goes = text(part(new, "status"), "phase"), bool(metadata(new).get("deletionTimestamp"))
    wanted, empty = ("Terminating", "not empty") if goes else ("Active", "empty")
    if phase == wanted:
        return []
    return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {empty}")]
