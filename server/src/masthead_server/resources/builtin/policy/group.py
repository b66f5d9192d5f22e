"""The resources of ``policy``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    CONDITIONAL_UPDATE,
    SPEC_GENERATION,
    UNVALIDATED_METADATA,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "poddisruptionbudgets": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION, CONDITIONAL_UPDATE, UNVALIDATED_METADATA),
        behavior=builtin_behavior("policy.poddisruptionbudget"),
    ),
}
"""The resources of the group, by name."""
