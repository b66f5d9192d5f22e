"""The resources of ``apiextensions.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    ANY_FINALIZER,
    CONDITIONAL_UPDATE,
    SPEC_GENERATION,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "customresourcedefinitions": ResourceDescription(
        strategy=Strategy.of(
            status(), SPEC_GENERATION, CONDITIONAL_UPDATE, ANY_FINALIZER, {"name_rule": names.as_definition}
        ),
        behavior=builtin_behavior("apiextensions.customresourcedefinition.behavior"),
        is_reviewed_ahead=True,
        stored_as=GroupVersion("apiextensions.k8s.io", "v1beta1"),
    ),
}
"""The resources of the group, by name."""
