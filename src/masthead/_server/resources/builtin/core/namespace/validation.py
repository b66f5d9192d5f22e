"""Validation of Namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import invalid
from masthead._server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain


def namespace_status_errors(new: Plain, _old: Plain) -> Errors:
    """Validate the phase of a namespace: it says whether it is being deleted, and nothing else."""
    phase, goes = text(part(new, "status"), "phase"), bool(metadata(new).get("deletionTimestamp"))
    wanted, empty = ("Terminating", "not empty") if goes else ("Active", "empty")
    if phase == wanted:
        return []
    return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {empty}")]
