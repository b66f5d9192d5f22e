"""Validation of CSIStorageCapacities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import invalid
from masthead_server.resources import names
from masthead_server.resources.validation.checks import (
    IMMUTABLE,
    immutable,
    label_selector,
    not_negative_amount,
)
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def capacity_errors(capacity: Plain) -> Errors:
    """Return the errors of a CSIStorageCapacity."""
    errors = label_selector("nodeTopology", part(capacity, "nodeTopology"))
    name = text(capacity, "storageClassName")
    errors += [invalid("storageClassName", name, each) for each in names.SUBDOMAIN(name)]
    if capacity.get("capacity") is not None:
        errors += not_negative_amount("capacity", capacity["capacity"])
    return errors


def capacity_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a CSIStorageCapacity."""
    topology = new.get("nodeTopology")
    changed = topology != old.get("nodeTopology")
    errors = [invalid("nodeTopology", topology, IMMUTABLE)] if changed else []
    return errors + immutable("storageClassName", text(new, "storageClassName"), text(old, "storageClassName"))
