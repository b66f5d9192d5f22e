"""The resources of ``storage.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import (
    CONDITIONAL_UPDATE,
    RETURNS_DELETED,
    SYSTEM_METADATA,
    UPDATE_THEN_WHOLE,
    WHOLE_ONLY,
    WHOLE_THEN_UPDATE,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    # A CSIDriver counts its changes, but begins to count at the first of them.
    "csidrivers": ResourceDescription(
        strategy=Strategy.of(CONDITIONAL_UPDATE, RETURNS_DELETED, {"watches": ("spec",)}),
        behavior=builtin_behavior("storage.csidriver"),
    ),
    "csinodes": ResourceDescription(
        strategy=Strategy.of(CONDITIONAL_UPDATE, RETURNS_DELETED, WHOLE_ONLY),
        behavior=builtin_behavior("storage.csinode"),
    ),
    "csistoragecapacities": ResourceDescription(
        strategy=Strategy.of(CONDITIONAL_UPDATE, WHOLE_THEN_UPDATE),
        behavior=builtin_behavior("storage.csistoragecapacity"),
    ),
    "storageclasses": ResourceDescription(
        strategy=Strategy.of(RETURNS_DELETED, WHOLE_THEN_UPDATE),
        behavior=builtin_behavior("storage.storageclass"),
    ),
    "volumeattachments": ResourceDescription(
        strategy=Strategy.of(status(SYSTEM_METADATA), CONDITIONAL_UPDATE, RETURNS_DELETED, WHOLE_ONLY),
        behavior=builtin_behavior("storage.volumeattachment"),
    ),
    "volumeattributesclasses": ResourceDescription(
        strategy=Strategy.of(RETURNS_DELETED, UPDATE_THEN_WHOLE),
        behavior=builtin_behavior("storage.volumeattributesclass"),
        deprecated={"v1beta1": "v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass"},
    ),
}
"""The resources of the group, by name."""
