"""CSIStorageCapacities: validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.validation.checks import IMMUTABLE, immutable, label_selector, not_negative_amount
from masthead_server.resources.warnings.node_labels import DEPRECATED, expression_warnings
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def capacity_errors(capacity: Plain) -> Errors:
    """Return the errors of a CSIStorageCapacity."""
    errors = label_selector("nodeTopology", part(capacity, "nodeTopology"))
    name = text(capacity, "storageClassName")
    errors += [invalid("storageClassName", name, problem) for problem in names.SUBDOMAIN(name)]
    if capacity.get("capacity") is not None:
        errors += not_negative_amount("capacity", capacity["capacity"])
    return errors


def capacity_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a CSIStorageCapacity."""
    topology = new.get("nodeTopology")
    changed = topology != old.get("nodeTopology")
    errors = [invalid("nodeTopology", topology, IMMUTABLE)] if changed else []
    return errors + immutable("storageClassName", text(new, "storageClassName"), text(old, "storageClassName"))


def capacity_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a CSIStorageCapacity."""
    topology = part(obj, "nodeTopology")
    found = expression_warnings("nodeTopology", topology)
    for key in part(topology, "matchLabels"):
        if key in DEPRECATED:
            found.append(f"nodeTopology.matchLabels.{key}: {DEPRECATED[key]}")
    return found


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=capacity_errors, validate_update=capacity_changes),
    warnings=always(capacity_warnings),
)
