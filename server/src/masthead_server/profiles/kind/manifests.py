"""Constructors of the objects in this profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.bootstrap.role_text import RBAC_GROUP, make_binding, parse_rule
from masthead_server.profiles.kind.facts import SYSTEM
from masthead_server.profiles.profile import ProfileObject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead_server.wire.plain import Plain

__all__ = [
    "cluster_binding",
    "cluster_role",
    "config_map",
    "host_path",
    "namespaced_binding",
    "namespaced_role",
    "service_account",
]


def service_account(name: str, manager: str, namespace: str = SYSTEM) -> ProfileObject:
    """Return a ServiceAccount."""
    return ProfileObject("serviceaccounts", {"metadata": {"name": name, "namespace": namespace}}, manager)


def config_map(
    name: str, data: Mapping[str, str], manager: str, namespace: str = SYSTEM, labels: Mapping[str, str] | None = None
) -> ProfileObject:
    """Return a ConfigMap."""
    meta: Plain = {"name": name, "namespace": namespace}
    if labels:
        meta["labels"] = dict(labels)
    return ProfileObject("configmaps", {"metadata": meta, "data": dict(data)}, manager)


def cluster_role(name: str, rules: Sequence[str], manager: str) -> ProfileObject:
    """Return a ClusterRole."""
    content = {"metadata": {"name": name}, "rules": [parse_rule(rule) for rule in rules]}
    return ProfileObject(f"{RBAC_GROUP}/clusterroles", content, manager)


def cluster_binding(name: str, role: str, subject: str, manager: str, namespace: str = SYSTEM) -> ProfileObject:
    """Return a ClusterRoleBinding to one subject; service accounts are those of a namespace."""
    content = make_binding({"name": name}, "ClusterRole", role, (subject,), namespace)
    return ProfileObject(f"{RBAC_GROUP}/clusterrolebindings", content, manager)


def namespaced_role(name: str, rules: Sequence[str], manager: str, namespace: str = SYSTEM) -> ProfileObject:
    """Return a Role."""
    content = {"metadata": {"name": name, "namespace": namespace}, "rules": [parse_rule(rule) for rule in rules]}
    return ProfileObject(f"{RBAC_GROUP}/roles", content, manager)


def namespaced_binding(name: str, subjects: Sequence[str], manager: str, namespace: str = SYSTEM) -> ProfileObject:
    """Return a RoleBinding to the Role of the same name."""
    content = make_binding({"name": name, "namespace": namespace}, "Role", name, subjects, namespace)
    return ProfileObject(f"{RBAC_GROUP}/rolebindings", content, manager)


def host_path(name: str, path: str, kind: str = "") -> Plain:
    """Return a volume: a file or folder of the node."""
    return {"name": name, "hostPath": {"path": path, "type": kind}}
