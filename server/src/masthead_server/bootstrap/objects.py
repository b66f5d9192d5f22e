"""All objects that every cluster has, with their resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.gvk import GroupVersionResource
from masthead_server.bootstrap import rbac
from masthead_server.bootstrap.api_services import builtin_api_services
from masthead_server.field_managers.own_entries import AGGREGATION_MANAGER, CLUSTER_MANAGER, own_entry
from masthead_server.resources.builtin.flowcontrol.cluster_defaults import flow_schemas, priority_levels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.bootstrap.network import ApiServerAddress
    from masthead_server.wire.plain import Plain

__all__ = ["BootstrapObject", "bootstrap_objects"]

_RBAC: Final = "rbac.authorization.k8s.io"
_FLOW_CONTROL: Final = "flowcontrol.apiserver.k8s.io"
_PRODUCER: Final = "api-priority-and-fairness-config-producer-v1"
_CONSUMER: Final = "api-priority-and-fairness-config-consumer-v1"
_PRIORITY_CLASSES: Final = {
    "system-cluster-critical": (
        2000000000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
"""The value and the description of each, which clients see."""


class BootstrapObject(NamedTuple):
    """An object that every cluster has.

    Attributes:
        resource: Its resource.
        content: The object, without the metadata that only a server assigns.
        is_restored: Whether a running server restores it after it was deleted; otherwise the next start does.
        manager: The manager of its fields.
        status_manager: The manager that applies its status; empty if it has no status.
    """

    resource: GroupVersionResource
    content: Plain
    is_restored: bool = False
    manager: str = CLUSTER_MANAGER
    status_manager: str = ""

    def entries(self, now: str) -> list[Plain]:
        """Return its managedFields.

        Args:
            now: The time.
        """
        version = str(self.resource.group_version)
        main = {name: value for name, value in self.content.items() if name != "status"}
        applied: list[Plain] = []
        if self.status_manager:
            status = {"status": self.content["status"]}
            entry = own_entry(status, self.status_manager, version, now, operation="Apply", subresource="status")
            applied.append(entry)
        # The aggregation controller owns the rules of such roles; the server only creates them.
        if "aggregationRule" in main:
            rules = {"rules": main.pop("rules")}
            applied.append(own_entry(rules, AGGREGATION_MANAGER, version, now, operation="Apply"))
        # No manager owns the name of an object without other fields.
        return [*applied, own_entry(main, self.manager, version, now)] if main.keys() != {"metadata"} else applied


def bootstrap_objects(address: ApiServerAddress, now: str, authority: str = "") -> Iterator[BootstrapObject]:
    """Yield the objects, namespaces and what controllers create in each of them excepted.

    Args:
        address: Where the server is reached.
        now: The time for conditions.
        authority: The authority of client certificates, in PEM; empty without TLS.
    """
    for content in builtin_api_services(now):
        yield BootstrapObject(GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices"), content)
    for resource, contents in (
        ("clusterroles", rbac.cluster_roles()),
        ("clusterrolebindings", rbac.cluster_role_bindings()),
        ("roles", rbac.roles()),
        ("rolebindings", rbac.role_bindings()),
    ):
        for content in contents:
            yield BootstrapObject(GroupVersionResource(_RBAC, "v1", resource), content)
    for content in _priority_classes():
        yield BootstrapObject(GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses"), content)
    levels = GroupVersionResource(_FLOW_CONTROL, "v1", "prioritylevelconfigurations")
    for content in priority_levels():
        yield BootstrapObject(levels, content, is_restored=True, manager=_PRODUCER)
    for content in flow_schemas(now):
        resource_of = GroupVersionResource(_FLOW_CONTROL, "v1", "flowschemas")
        yield BootstrapObject(resource_of, content, is_restored=True, manager=_PRODUCER, status_manager=_CONSUMER)
    cidrs = GroupVersionResource("networking.k8s.io", "v1", "servicecidrs")
    yield BootstrapObject(
        cidrs,
        address.service_cidr(now),
        is_restored=True,
        status_manager="kubernetes-service-cidr-controller",
    )
    for group, resource, content in (
        ("", "configmaps", _token_tracking(now)),
        ("", "services", address.service()),
        ("", "endpoints", address.endpoints()),
        ("discovery.k8s.io", "endpointslices", address.endpoint_slice()),
    ):
        yield BootstrapObject(GroupVersionResource(group, "v1", resource), content, is_restored=True)
    # Without client certificates there is nothing to say about them.
    if authority:
        content = _extension_authentication(authority)
        yield BootstrapObject(GroupVersionResource("", "v1", "configmaps"), content, is_restored=True)


def _token_tracking(now: str) -> Plain:
    """Since when the use of legacy service account tokens is tracked; controllers wait for it."""
    name = "kube-apiserver-legacy-service-account-token-tracking"
    return {
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": {"since": now[: len("2006-01-02")]},
    }


def _extension_authentication(authority: str) -> Plain:
    """How aggregated API servers authenticate clients: by the authority of their certificates."""
    return {
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {"client-ca-file": authority},
    }


def _priority_classes() -> Iterator[Plain]:
    for name, (value, description) in _PRIORITY_CLASSES.items():
        yield {
            "metadata": {"name": name, "generation": 1},
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        }
