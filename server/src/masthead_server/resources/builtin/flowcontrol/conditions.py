"""Validation of the conditions of flow control's kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import required
from masthead_server.resources.validation.checks import each_of, unique
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def condition_errors(obj: Plain) -> Errors:
    """Return the errors of the status of a FlowSchema or a PriorityLevelConfiguration."""
    errors: Errors = []
    seen: set[str] = set()
    for path, condition in each_of(part(obj, "status"), "conditions", "status"):
        kind = text(condition, "type")
        errors += unique(f"{path}.type", kind, seen)
        if not kind:
            errors.append(required(f"{path}.type"))
    return errors
