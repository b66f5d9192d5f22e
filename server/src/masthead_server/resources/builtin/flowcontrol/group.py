"""The resources of ``flowcontrol.apiserver.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import ALL_METADATA, SPEC_GENERATION, WHOLE_ONLY, Strategy, status

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "flowschemas": ResourceDescription(
        strategy=Strategy.of(status(ALL_METADATA), SPEC_GENERATION, WHOLE_ONLY),
        behavior=builtin_behavior("flowcontrol.flowschema"),
    ),
    "prioritylevelconfigurations": ResourceDescription(
        strategy=Strategy.of(status(ALL_METADATA), SPEC_GENERATION, WHOLE_ONLY),
        behavior=builtin_behavior("flowcontrol.prioritylevelconfiguration"),
    ),
}
"""The resources of the group, by name."""
