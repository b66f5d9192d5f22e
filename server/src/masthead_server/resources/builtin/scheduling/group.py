"""The resources of ``scheduling.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import SYSTEM_METADATA, Strategy, generation, status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "podgroups": ResourceDescription(strategy=Strategy.of(status(SYSTEM_METADATA))),
    "priorityclasses": ResourceDescription(
        strategy=Strategy.of(generation()), behavior=builtin_behavior("scheduling.priorityclass")
    ),
    "workloads": ResourceDescription(),
}
"""The resources of the group, by name."""
