"""The conflicts of a server-side apply, as kube-apiserver's Status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead._schema.errors import MAX_FINDINGS, MAX_TEXT
from masthead._schema.path_elements import path_text
from masthead_server.field_managers.entries import UPDATE
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._schema.structured_merge.managers import Conflict, ManagerKey
    from masthead_server.wire.plain import Plain

__all__ = ["refused_conflicts"]


def refused_conflicts(conflicts: Sequence[Conflict]) -> StatusFailure:
    """Return the error of an apply that would change fields of other managers: 409 with a cause for each field."""
    # kube-apiserver sorts the managers in the message, but not the causes.
    ordered = sorted(conflicts, key=lambda conflict: conflict.key)
    causes: list[Plain] = []
    lines: list[str] = []
    left, last = MAX_TEXT, None
    for conflict in ordered[:MAX_FINDINGS]:
        manager, path = _format_manager(conflict.key), path_text(conflict.path)
        left -= len(manager) + len(path)
        if left < 0 and causes:
            break
        causes.append({"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path})
        if conflict.key != last:
            lines.append(f"conflicts with {manager}:")
            last = conflict.key
        lines.append(f"- {path}")
    if len(ordered) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        message = f"Apply failed with {len(ordered)} conflicts: " + "\n".join(lines)
    return StatusFailure(409, "Conflict", message, details={"causes": causes})


def _format_manager(key: ManagerKey) -> str:
    """A manager in messages: ``"kubectl" with subresource "scale" using apps/v1``."""
    manager = quoted(key.manager)
    if key.subresource:
        manager = f"{manager} with subresource {quoted(key.subresource)}"
    return f"{manager} using {key.api_version}" if key.operation == UPDATE else manager
