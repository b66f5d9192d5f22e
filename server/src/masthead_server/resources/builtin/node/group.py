"""The resources of ``node.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    ANY_FINALIZER,
    CONDITIONAL_UPDATE,
    CREATE_ON_UPDATE,
    WHOLE_THEN_UPDATE,
    Strategy,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "runtimeclasses": ResourceDescription(
        strategy=Strategy.of(CREATE_ON_UPDATE, CONDITIONAL_UPDATE, ANY_FINALIZER, WHOLE_THEN_UPDATE),
        behavior=builtin_behavior("node.runtimeclass"),
    ),
}
"""The resources of the group, by name."""
