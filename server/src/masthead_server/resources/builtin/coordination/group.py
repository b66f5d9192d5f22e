"""The resources of ``coordination.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import ANY_FINALIZER, CONDITIONAL_UPDATE, CREATE_ON_UPDATE, Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "leasecandidates": ResourceDescription(
        strategy=Strategy.of(CREATE_ON_UPDATE, CONDITIONAL_UPDATE, ANY_FINALIZER, {"name_rule": names.as_config_key}),
        behavior=builtin_behavior("coordination.leasecandidate"),
        deprecated={"v1beta1": "v1.36+, unavailable in v1.39+", "v1alpha2": "v1.35+, unavailable in v1.38+"},
    ),
    "leases": ResourceDescription(
        strategy=Strategy.of(CREATE_ON_UPDATE, CONDITIONAL_UPDATE, ANY_FINALIZER),
        behavior=builtin_behavior("coordination.lease"),
    ),
}
"""The resources of the group, by name."""
