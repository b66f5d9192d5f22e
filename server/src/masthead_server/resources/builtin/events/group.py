"""The resources of ``events.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead_server.resources.builtin.event_field_selectors import (
    EVENT_READERS,
    read_reporter,
    reference_readers,
)
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.field_selectors import SelectableFields
from masthead_server.resources.strategy import CREATE_ON_UPDATE, IGNORES_DEPENDENTS, Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "events": ResourceDescription(
        strategy=Strategy.of(CREATE_ON_UPDATE, IGNORES_DEPENDENTS),
        behavior=builtin_behavior("events.event"),
        selectable=SelectableFields(
            readers={**reference_readers("regarding"), **EVENT_READERS, "reportingController": read_reporter}
        ),
        stored_as=GroupVersion("", "v1"),
        converted=frozenset({"v1"}),
    ),
}
"""The resources of the group, by name."""
