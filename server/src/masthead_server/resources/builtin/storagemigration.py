"""The resources of ``storagemigration.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription
from masthead_server.resources.strategy import (
    CONDITIONAL_UPDATE,
    SYSTEM_METADATA,
    WHOLE_THEN_UPDATE,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "storageversionmigrations": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA), CONDITIONAL_UPDATE, WHOLE_THEN_UPDATE)
    ),
}
"""The resources of the group, by name."""
