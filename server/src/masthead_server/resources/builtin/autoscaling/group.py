"""The resources of ``autoscaling``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import Strategy, status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "horizontalpodautoscalers": ResourceDescription(
        strategy=Strategy.of(status()),
        behavior=builtin_behavior("autoscaling.horizontalpodautoscaler.behavior"),
        converted=frozenset({"v1", "v2"}),
    ),
}
"""The resources of the group, by name."""
