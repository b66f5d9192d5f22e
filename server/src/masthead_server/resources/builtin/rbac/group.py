"""The resources of ``rbac.authorization.k8s.io``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.strategy import CREATE_ON_UPDATE, WHOLE_THEN_UPDATE, Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.resources.strategy import Facts

__all__ = ["RESOURCES"]

_RBAC: Final[Facts] = {**CREATE_ON_UPDATE, **WHOLE_THEN_UPDATE, "name_rule": names.as_path_segment}

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "clusterrolebindings": ResourceDescription(
        strategy=Strategy.of(_RBAC), behavior=builtin_behavior("rbac.clusterrolebinding")
    ),
    "clusterroles": ResourceDescription(strategy=Strategy.of(_RBAC), behavior=builtin_behavior("rbac.clusterrole")),
    "rolebindings": ResourceDescription(strategy=Strategy.of(_RBAC), behavior=builtin_behavior("rbac.rolebinding")),
    "roles": ResourceDescription(strategy=Strategy.of(_RBAC), behavior=builtin_behavior("rbac.role")),
}
"""The resources of the group, by name."""
