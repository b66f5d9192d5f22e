"""Warnings about StatefulSets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.behavior import when_changed
from masthead_server.resources.warnings.pod_controllers import template_warnings_of
from masthead_server.resources.warnings.quantities import claim_warnings
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def new_stateful_set_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a StatefulSet."""
    return template_warnings_of(obj) + _claim_warnings(obj, "") + _history(obj)


def stateful_set_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a StatefulSet."""
    # The path of a claim's spec is spelled differently in an update, and wrongly in both cases.
    return when_changed(template_warnings_of)(new, old) + _claim_warnings(new, ".Spec") + _history(new)


def _claim_warnings(obj: Plain, tail: str) -> list[str]:
    found: list[str] = []
    for index, claim in enumerate(items(part(obj, "spec"), "volumeClaimTemplates")):
        found += claim_warnings(f"spec.volumeClaimTemplates[{index}]{tail}", part(claim, "spec"))
    return found


def _history(obj: Plain) -> list[str]:
    limit = part(obj, "spec").get("revisionHistoryLimit")
    if not isinstance(limit, int) or limit >= 0:
        return []
    why = "a negative value retains all historical revisions; a value >= 0 is recommended"
    return [f"spec.revisionHistoryLimit: {why}"]
