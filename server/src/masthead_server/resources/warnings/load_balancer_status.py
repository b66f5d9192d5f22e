"""Warnings about the load balancer status of Services and Ingresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.addresses import address_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def load_balancer_status_warnings(new: Plain, _: Plain) -> list[str]:
    """Return the warnings about the addresses in a load balancer status."""
    balancer = part(part(new, "status"), "loadBalancer")
    found: list[str] = []
    for index, each in enumerate(items(balancer, "ingress")):
        found += address_warnings(f"status.loadBalancer.ingress[{index}]", text(each, "ip"))
    return found
