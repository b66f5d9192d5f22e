"""Warnings about Nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.addresses import network_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def node_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a Node."""
    spec = part(obj, "spec")
    found: list[str] = []
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, value in enumerate(spec.get("podCIDRs") or ()):
        found += network_warnings(f"spec.podCIDRs[{index}]", value)
    return found
