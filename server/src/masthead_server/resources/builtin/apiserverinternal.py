"""The resources of ``internal.apiserver.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription
from masthead_server.resources.strategy import CONDITIONAL_UPDATE, SYSTEM_METADATA, Strategy, status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "storageversions": ResourceDescription(
        strategy=Strategy.of(
            status(SYSTEM_METADATA),
            CONDITIONAL_UPDATE,
            {"name_rule": names.as_storage_version, "rechecks": ()},
        )
    ),
}
"""The resources of the group, by name."""
