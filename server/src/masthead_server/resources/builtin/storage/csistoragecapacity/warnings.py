"""Warnings about CSIStorageCapacities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.node_labels import DEPRECATED, expression_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def capacity_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a CSIStorageCapacity."""
    topology = part(obj, "nodeTopology")
    found = expression_warnings("nodeTopology", topology)
    for key in part(topology, "matchLabels"):
        if key in DEPRECATED:
            found.append(f"nodeTopology.matchLabels.{key}: {DEPRECATED[key]}")
    return found
