"""The service account, roles and role bindings of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._controller.rbac_rules import CLUSTER, grants_of, rules_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead._controller.rbac_rules import RbacRule
    from masthead._scaffold.settings import Deploy

__all__ = ["access_objects"]

_GROUP: Final = "rbac.authorization.k8s.io"


def access_objects(deploy: Deploy) -> Iterator[dict[str, object]]:
    """Yield the service account, and a role with its binding per namespace, or for the cluster."""
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": deploy.metadata(deploy.namespace),
    }
    rules = rules_of(grants_of(deploy.manager, deploy.options, deploy.namespace))
    for namespace, found in rules.items():
        yield from _role(deploy, namespace, found)


def _role(deploy: Deploy, namespace: str, rules: Sequence[RbacRule]) -> Iterator[dict[str, object]]:
    is_cluster = namespace == CLUSTER
    kind = "ClusterRole" if is_cluster else "Role"
    # Role and binding are in the watched namespace, the service account in the operator's.
    metadata = deploy.metadata(None if is_cluster else namespace)
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": [rule.to_dict() for rule in rules],
    }
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": deploy.name},
        "subjects": [{"kind": "ServiceAccount", "name": deploy.name, "namespace": deploy.namespace}],
    }
