"""The resources of ``resource.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.field_selectors import SelectableFields, texts_at
from masthead_server.resources.strategy import (
    CONDITIONAL_UPDATE,
    LONG_NAME,
    RETURNS_DELETED,
    SPEC_GENERATION,
    SYSTEM_METADATA,
    WHOLE_THEN_UPDATE,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "deviceclasses": ResourceDescription(
        strategy=Strategy.of(SPEC_GENERATION, RETURNS_DELETED, WHOLE_THEN_UPDATE, LONG_NAME),
        behavior=builtin_behavior("resource.deviceclass"),
        deprecated={"v1beta2": "v1.36+, unavailable in v1.39+", "v1beta1": "v1.35+, unavailable in v1.38+"},
    ),
    "devicetaintrules": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA), SPEC_GENERATION, RETURNS_DELETED),
        behavior=builtin_behavior("resource.devicetaintrule"),
        stored_as=GroupVersion("resource.k8s.io", "v1alpha3"),
        deprecated={"v1alpha3": "v1.36+, unavailable in v1.39+"},
    ),
    "resourceclaims": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA), RETURNS_DELETED, WHOLE_THEN_UPDATE),
        behavior=builtin_behavior("resource.resourceclaim"),
        converted=frozenset({"v1beta1"}),
        deprecated={"v1beta2": "v1.36+, unavailable in v1.39+", "v1beta1": "v1.35+, unavailable in v1.38+"},
    ),
    "resourceclaimtemplates": ResourceDescription(
        strategy=Strategy.of(RETURNS_DELETED, WHOLE_THEN_UPDATE),
        behavior=builtin_behavior("resource.resourceclaimtemplate"),
        converted=frozenset({"v1beta1"}),
        deprecated={"v1beta2": "v1.36+, unavailable in v1.39+", "v1beta1": "v1.35+, unavailable in v1.38+"},
    ),
    "resourcepoolstatusrequests": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA), CONDITIONAL_UPDATE, RETURNS_DELETED),
        behavior=builtin_behavior("resource.resourcepoolstatusrequest"),
    ),
    "resourceslices": ResourceDescription(
        strategy=Strategy.of(SPEC_GENERATION, RETURNS_DELETED),
        behavior=builtin_behavior("resource.resourceslice"),
        selectable=SelectableFields(
            readers=texts_at("spec.driver", "spec.nodeName"),
            has_namespace=False,
            unsupported="field label not supported for {group}/{version}, Kind=ResourceSlice: {field}",
        ),
        converted=frozenset({"v1beta1"}),
        deprecated={"v1beta2": "v1.36+, unavailable in v1.39+", "v1beta1": "v1.35+, unavailable in v1.38+"},
    ),
}
"""The resources of the group, by name."""
