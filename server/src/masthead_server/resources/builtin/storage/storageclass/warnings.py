"""Warnings about StorageClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.node_labels import DEPRECATED
from masthead_server.wire.plain import items

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def storage_class_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a StorageClass."""
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {DEPRECATED[each['key']]}"
        for index, topology in enumerate(items(obj, "allowedTopologies"))
        for number, each in enumerate(items(topology, "matchLabelExpressions"))
        if each.get("key") in DEPRECATED
    ]
