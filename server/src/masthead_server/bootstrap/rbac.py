"""The roles of RBAC that every cluster has, and their bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.bootstrap.cluster_roles import CLUSTER_ROLES
from masthead_server.bootstrap.controller_roles import CONTROLLER_ROLES
from masthead_server.bootstrap.role_text import RBAC_GROUP, make_binding, parse_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead_server.wire.plain import Plain

__all__ = ["cluster_role_bindings", "cluster_roles", "node_rules", "role_bindings", "roles"]

_AGGREGATED: Final = ("admin", "edit", "view")
"""Roles whose rules are those of every role with the label ``rbac.authorization.k8s.io/aggregate-to-NAME``."""
_AGGREGATED_TO: Final[Mapping[str, str]] = {
    "edit": "admin",
    "system:aggregate-to-admin": "admin",
    "view": "edit",
    "system:aggregate-to-edit": "edit",
    "system:aggregate-to-view": "view",
}
_ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    "kube-public/system:controller:bootstrap-signer": (
        "get list watch | core | configmaps",
        "update | core | configmaps | cluster-info",
        "create patch update | core events.k8s.io | events",
    ),
    "kube-system/extension-apiserver-authentication-reader": (
        "get list watch | core | configmaps | extension-apiserver-authentication",
    ),
    "kube-system/system::leader-locking-kube-controller-manager": (
        "create get list update watch | coordination.k8s.io | leases",
        "create get list update watch | coordination.k8s.io | leasecandidates",
    ),
    "kube-system/system::leader-locking-kube-scheduler": (
        "create get list update watch | coordination.k8s.io | leases",
        "create get list update watch | coordination.k8s.io | leasecandidates",
    ),
    "kube-system/system:controller:bootstrap-signer": ("get list watch | core | secrets",),
    "kube-system/system:controller:cloud-provider": ("create get list watch | core | configmaps",),
    "kube-system/system:controller:token-cleaner": (
        "delete get list watch | core | secrets",
        "create patch update | core events.k8s.io | events",
    ),
}
"""The rules of each Role, by namespace and name."""
_CLUSTER_BINDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "cluster-admin": ("Group system:masters",),
    "system:basic-user": ("Group system:authenticated",),
    "system:discovery": ("Group system:authenticated",),
    "system:kube-controller-manager": ("User system:kube-controller-manager",),
    "system:kube-dns": ("ServiceAccount kube-dns",),
    "system:kube-scheduler": ("User system:kube-scheduler",),
    "system:monitoring": ("Group system:monitoring",),
    "system:node": (),
    "system:node-proxier": ("User system:kube-proxy",),
    "system:public-info-viewer": ("Group system:authenticated", "Group system:unauthenticated"),
    "system:service-account-issuer-discovery": ("Group system:serviceaccounts",),
    "system:volume-scheduler": ("User system:kube-scheduler",),
}
"""The subjects of each ClusterRoleBinding, which has the name of its role."""
_BINDINGS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "kube-public/system:controller:bootstrap-signer": (
        "system:controller:bootstrap-signer",
        ("ServiceAccount bootstrap-signer",),
    ),
    "kube-system/system::extension-apiserver-authentication-reader": (
        "extension-apiserver-authentication-reader",
        ("User system:kube-controller-manager", "User system:kube-scheduler"),
    ),
    "kube-system/system::leader-locking-kube-controller-manager": (
        "system::leader-locking-kube-controller-manager",
        (
            "User system:kube-controller-manager",
            "ServiceAccount kube-controller-manager",
            "ServiceAccount leader-election-controller",
        ),
    ),
    "kube-system/system::leader-locking-kube-scheduler": (
        "system::leader-locking-kube-scheduler",
        ("User system:kube-scheduler", "ServiceAccount kube-scheduler"),
    ),
    "kube-system/system:controller:bootstrap-signer": (
        "system:controller:bootstrap-signer",
        ("ServiceAccount bootstrap-signer",),
    ),
    "kube-system/system:controller:cloud-provider": (
        "system:controller:cloud-provider",
        ("ServiceAccount cloud-provider",),
    ),
    "kube-system/system:controller:token-cleaner": (
        "system:controller:token-cleaner",
        ("ServiceAccount token-cleaner",),
    ),
}
"""The role and the subjects of each RoleBinding, by namespace and name."""


def cluster_roles() -> Iterator[Plain]:
    """Yield the ClusterRoles; aggregated ones have the rules that kube-controller-manager would give them."""
    for name in _AGGREGATED:
        label = f"{RBAC_GROUP}/aggregate-to-{name}"
        selector = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
        rules = [parse_rule(aggregated_rule) for aggregated_rule in _aggregated_rules(name)]
        yield {"metadata": _metadata(name), "rules": rules, "aggregationRule": selector}
    for name, written in {**CLUSTER_ROLES, **CONTROLLER_ROLES}.items():
        yield {"metadata": _metadata(name), "rules": [parse_rule(rule) for rule in written]}


def node_rules() -> list[Plain]:
    """Return the rules of every kubelet, which the node authorizer narrows down to the objects of its node."""
    return [parse_rule(rule) for rule in CLUSTER_ROLES["system:node"]]


def cluster_role_bindings() -> Iterator[Plain]:
    """Yield the ClusterRoleBindings."""
    for name, subjects in _CLUSTER_BINDINGS.items():
        yield make_binding(_metadata(name), "ClusterRole", name, subjects)
    for name in CONTROLLER_ROLES:
        # A controller runs with the service account of the same name.
        account = f"ServiceAccount {name.rpartition(':')[2]}"
        yield make_binding(_metadata(name), "ClusterRole", name, (account,))


def roles() -> Iterator[Plain]:
    """Yield the Roles."""
    for key, rules in _ROLES.items():
        yield {"metadata": _metadata_at(key), "rules": [parse_rule(rule) for rule in rules]}


def role_bindings() -> Iterator[Plain]:
    """Yield the RoleBindings."""
    for key, (role, subjects) in _BINDINGS.items():
        yield make_binding(_metadata_at(key), "Role", role, subjects)


def _aggregated_rules(name: str) -> list[str]:
    """The rules of the roles that are aggregated to this one, in the order of their names, each once."""
    rules: dict[str, None] = {}
    for role in sorted(role for role, target in _AGGREGATED_TO.items() if target == name):
        # "edit" and "admin" aggregate roles that are aggregated themselves.
        rules.update(dict.fromkeys(CLUSTER_ROLES.get(role) or _aggregated_rules(role)))
    return list(rules)


def _metadata(name: str) -> Plain:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if target := _AGGREGATED_TO.get(name):
        labels[f"{RBAC_GROUP}/aggregate-to-{target}"] = "true"
    return {
        "name": name,
        "labels": labels,
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }


def _metadata_at(key: str) -> Plain:
    namespace, _, name = key.partition("/")
    return {**_metadata(name), "namespace": namespace}
