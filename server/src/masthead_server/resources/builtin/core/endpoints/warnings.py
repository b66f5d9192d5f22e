"""Warnings about Endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.warnings.addresses import address_warnings
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_MANAGED: Final = ("endpoints.kubernetes.io/managed-by", "endpoint-controller")
"""The label of Endpoints that are known to be written well."""


def endpoints_warnings(obj: Plain) -> list[str]:
    """Return the warnings about Endpoints."""
    label, controller = _MANAGED
    if part(part(obj, "metadata"), "labels").get(label) == controller:
        return []
    found: list[str] = []
    for index, subset in enumerate(items(obj, "subsets")):
        for name in ("addresses", "notReadyAddresses"):
            for number, each in enumerate(items(subset, name)):
                found += address_warnings(f"subsets[{index}].{name}[{number}].ip", text(each, "ip"))
    return found
