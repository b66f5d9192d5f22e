"""The resources of ``apps``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    SPEC_GENERATION,
    UPDATE_THEN_WHOLE,
    Strategy,
    generation,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "controllerrevisions": ResourceDescription(
        strategy=Strategy.of(UPDATE_THEN_WHOLE), behavior=builtin_behavior("apps.controllerrevision")
    ),
    "daemonsets": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION), behavior=builtin_behavior("apps.daemonset")
    ),
    "deployments": ResourceDescription(
        strategy=Strategy.of(status(frozenset({"labels"})), generation("spec", "metadata.annotations")),
        behavior=builtin_behavior("apps.deployment"),
    ),
    "replicasets": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION), behavior=builtin_behavior("apps.replicaset")
    ),
    "statefulsets": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION, {"name_rule": names.as_label}),
        behavior=builtin_behavior("apps.statefulset"),
    ),
}
"""The resources of the group, by name."""
