"""The resources of ``apiregistration.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    ANY_FINALIZER,
    CONDITIONAL_UPDATE,
    UPDATE_THEN_WHOLE,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "apiservices": ResourceDescription(
        strategy=Strategy.of(
            status(frozenset({"labels", "annotations", "finalizers", "ownerReferences"})),
            CONDITIONAL_UPDATE,
            ANY_FINALIZER,
            UPDATE_THEN_WHOLE,
            {"name_rule": names.as_api_service},
        ),
        behavior=builtin_behavior("apiregistration.apiservice"),
    ),
}
"""The resources of the group, by name."""
