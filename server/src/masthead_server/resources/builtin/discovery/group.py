"""The resources of ``discovery.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import EVERYTHING, WHOLE_ONLY, Strategy, generation

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "endpointslices": ResourceDescription(
        strategy=Strategy.of(generation(EVERYTHING, "metadata.labels"), WHOLE_ONLY),
        behavior=builtin_behavior("discovery.endpointslice"),
    ),
}
"""The resources of the group, by name."""
