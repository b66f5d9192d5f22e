"""Warnings about RuntimeClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.node_labels import DEPRECATED
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def runtime_class_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a RuntimeClass."""
    selector = part(part(obj, "scheduling"), "nodeSelector")
    return [f"scheduling.nodeSelector: {DEPRECATED[key]}" for key in selector if key in DEPRECATED]
