"""The authorizers of a server, by its setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.authorization.always_allow import AlwaysAllow, AlwaysDeny
from masthead_server.authorization.escalation import EscalationGuard
from masthead_server.authorization.node import NodeAuthorizer
from masthead_server.authorization.node_graph import NodeGraph
from masthead_server.authorization.rbac import RbacAuthorizer
from masthead_server.authorization.role_index import RoleIndex
from masthead_server.authorization.union import AuthorizerUnion
from masthead_server.authorization_modes import AuthorizationMode

if TYPE_CHECKING:
    from masthead_server.authorization.authorizer import Authorizer
    from masthead_server.authorization.policy_rules import RuleSet
    from masthead_server.cluster import ClusterState

__all__ = ["set_authorizers"]


def set_authorizers(cluster: ClusterState, modes: tuple[AuthorizationMode, ...], node_rules: RuleSet) -> None:
    """Set the authorizer of a cluster.

    Args:
        cluster: The cluster state.
        modes: The modes, in their order.
        node_rules: What every kubelet may do.
    """
    authorizers: list[Authorizer] = []
    index: RoleIndex | None = None
    for mode in modes:
        match mode:
            case AuthorizationMode.ALWAYS_ALLOW:
                authorizers.append(AlwaysAllow())
            case AuthorizationMode.ALWAYS_DENY:
                authorizers.append(AlwaysDeny())
            case AuthorizationMode.NODE:
                authorizers.append(NodeAuthorizer(NodeGraph(cluster), node_rules))
            case AuthorizationMode.RBAC:
                index = RoleIndex(cluster)
                authorizers.append(RbacAuthorizer(index))
    cluster.authorizer = AuthorizerUnion(authorizers)
    # Without RBAC, roles grant nothing.
    cluster.escalation = EscalationGuard(cluster.authorizer, index) if index is not None else None
