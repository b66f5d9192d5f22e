"""The description that custom resources share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.description import ResourceDescription
from masthead._server.resources.field_selectors import CUSTOM_RESOURCE_FIELDS
from masthead._server.resources.strategy import (
    ALL_METADATA,
    ANY_FINALIZER,
    CONDITIONAL_UPDATE,
    EVERYTHING,
    Strategy,
    generation,
    status,
)

if TYPE_CHECKING:
    from masthead._server.resources.behavior import Behavior

__all__ = ["CUSTOM_RESOURCE"]


def _behavior() -> Behavior:
    from masthead._server.resources.behavior import Behavior
    from masthead._server.resources.warnings.custom_resources import CUSTOM_RESOURCE_WARNINGS

    return Behavior(warnings=CUSTOM_RESOURCE_WARNINGS)


CUSTOM_RESOURCE: Final = ResourceDescription(
    strategy=Strategy.of(status(ALL_METADATA), generation(EVERYTHING), CONDITIONAL_UPDATE, ANY_FINALIZER),
    behavior=_behavior,
    selectable=CUSTOM_RESOURCE_FIELDS,
    is_custom=True,
)
"""A custom resource; whether it has a status is up to its definition."""
