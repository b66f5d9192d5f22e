"""Warnings about Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.addresses import address_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def pod_status_warnings(new: Plain, _: Plain) -> list[str]:
    """Return the warnings about the status of a Pod."""
    found: list[str] = []
    for name in ("podIPs", "hostIPs"):
        for index, item in enumerate(items(part(new, "status"), name)):
            found += address_warnings(f"status.{name}[{index}].ip", text(item, "ip"))
    return found
