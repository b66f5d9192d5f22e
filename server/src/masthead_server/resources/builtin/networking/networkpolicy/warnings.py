"""Warnings about NetworkPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.warnings.addresses import network_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def policy_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a NetworkPolicy."""
    found: list[str] = []
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(items(part(obj, "spec"), direction)):
            for number, peer in enumerate(items(rule, peers)):
                at = f"spec.{direction}[{index}].{peers}[{number}].ipBlock"
                found += _block(at, part(peer, "ipBlock"))
    return found


def _block(path: str, block: Plain) -> list[str]:
    found = network_warnings(f"{path}.cidr", text(block, "cidr"))
    for index, value in enumerate(block.get("except") or ()):
        found += network_warnings(f"{path}.except[{index}]", value)
    return found
