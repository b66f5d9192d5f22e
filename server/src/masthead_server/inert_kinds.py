"""Kinds whose objects are stored without any effect: a warning in each response, and one log line for each kind."""

from __future__ import annotations

import logging
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from masthead_server.wire.failures import qualified
from masthead_server.wire.request import warning_header

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from masthead_server.wire.request import ApiResponse
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["InertKinds"]

_log: Final = logging.getLogger("masthead.server")
_INERT: Final[Mapping[tuple[str, str], str]] = {
    ("networking.k8s.io", "networkpolicies"): "no traffic is filtered",
    ("networking.k8s.io", "ingresses"): "no request is routed to their backends",
    ("networking.k8s.io", "servicecidrs"): "services get no addresses from them",
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): "all requests have the same priority",
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): "all requests have the same priority",
    ("apiregistration.k8s.io", "apiservices"): "no request is forwarded to their services",
    ("storage.k8s.io", "csidrivers"): "no volume is provisioned or attached",
    ("storage.k8s.io", "volumeattachments"): "no volume is attached",
    ("storagemigration.k8s.io", "storageversionmigrations"): "no object is migrated",
    ("coordination.k8s.io", "leasecandidates"): "no leader is elected",
    ("resource.k8s.io", "resourceclaims"): "no device is allocated",
}
"""What the server does not do, by group and resource."""
_WITHOUT_CONTROLLER: Final[Mapping[tuple[str, str], tuple[str, str]]] = {
    ("policy", "poddisruptionbudgets"): (
        "disruption",
        "their status is not computed, and evictions ignore them without one",
    ),
}
"""What only a certain controller does, with its name."""
_ROLES: Final = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
_NOT_ENFORCED: Final = (
    'everyone may do everything. To enforce them, start it with authorization="rbac" (--authorization rbac).'
)


class InertKinds:
    """Warns of new objects that have no effect here: in the response to each, and in the log of the first of a kind.

    Args:
        is_alone: Whether the server runs controllers. Without them, other programs may take care of any kind, as for
            a real kube-apiserver, which does not warn either.
        controllers: The names of the controllers that it runs.
        enforces_roles: Whether roles and bindings decide who may do what.
    """

    def __init__(self, *, is_alone: bool, controllers: Collection[str] = (), enforces_roles: bool = False) -> None:
        workloads = {
            key: lacking for key, (controller, lacking) in _WITHOUT_CONTROLLER.items() if controller not in controllers
        }
        roles = {} if enforces_roles else {("rbac.authorization.k8s.io", role): _NOT_ENFORCED for role in _ROLES}
        self._lacking: Mapping[tuple[str, str], str] = {**_INERT, **workloads, **roles} if is_alone else {}
        self._warned: set[tuple[str, str]] = set()

    def warn(self, info: RequestInfo, response: ApiResponse) -> ApiResponse:
        """Add a warning to the response for a new object that has no effect."""
        if response.code != HTTPStatus.CREATED or info.subresource:
            return response
        lacking = self._lacking.get((info.group, info.resource))
        if lacking is None:
            return response
        text = f"{qualified(info.group, info.resource)} have no effect on this server: {lacking}"
        if (info.group, info.resource) not in self._warned:
            self._warned.add((info.group, info.resource))
            _log.warning("%s", text)
        return replace(response, headers=(*response.headers, warning_header(text)))
