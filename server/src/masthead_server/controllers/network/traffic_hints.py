"""Topology hints of endpoints, from the traffic distribution of their Service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["add_hints", "distribution_of", "needs_hints"]

_SAME_NODE: Final = "PreferSameNode"
_DISTRIBUTIONS: Final = frozenset({"PreferClose", "PreferSameZone", _SAME_NODE})
_MODES: Final = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")


def distribution_of(service: Plain) -> str:
    """Return the traffic distribution of a Service; empty if it has none or an annotation overrides it."""
    annotations = part(part(service, "metadata"), "annotations")
    mode = next((annotations[name] for name in _MODES if name in annotations), "")
    wanted = text(part(service, "spec"), "trafficDistribution")
    return wanted if wanted in _DISTRIBUTIONS and mode not in {"Auto", "auto"} else ""


def add_hints(endpoints: Iterable[Plain], distribution: str) -> list[Plain]:
    """Return endpoints with the hints of a distribution; only ready endpoints get hints."""
    return [_with_hints(endpoint, distribution) for endpoint in endpoints]


def needs_hints(endpoints: Iterable[Plain], distribution: str) -> bool:
    """Tell whether stored endpoints have other hints than a distribution calls for."""
    return any(_with_hints(endpoint, distribution) != endpoint for endpoint in endpoints)


def _with_hints(endpoint: Plain, distribution: str) -> Plain:
    if distribution and not part(endpoint, "conditions").get("ready"):
        return endpoint
    hints: Plain = {}
    if distribution and endpoint.get("zone"):
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if distribution == _SAME_NODE and endpoint.get("nodeName"):
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    bare = {name: value for name, value in endpoint.items() if name != "hints"}
    return {**bare, "hints": hints} if hints else bare
