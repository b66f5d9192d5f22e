"""The node authorizer: a kubelet may touch what concerns its own node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta import fields
from masthead._meta.labels import Operator
from masthead._meta.quoting import quoted
from masthead.errors import SelectorError
from masthead_server.authorization.authorizer import Decision, Outcome, UserRules
from masthead_server.authorization.node_graph import NodeGraph, Vertex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from masthead_server.authorization.authorizer import AuthorizationAttributes
    from masthead_server.authorization.policy_rules import RuleSet
    from masthead_server.wire.user_info import UserInfo

__all__ = ["NodeAuthorizer", "node_name_of"]

_NODES_GROUP: Final = "system:nodes"
_USER_PREFIX: Final = "system:node:"
_LEASE_NAMESPACE: Final = "kube-node-lease"
_READ: Final = frozenset({"get", "list", "watch"})
_OWN_OBJECT_VERBS: Final = frozenset({"get", "create", "update", "patch", "delete"})
_ALLOWED: Final = Outcome(Decision.ALLOW)


def node_name_of(user: UserInfo) -> str | None:
    """Return the node of a kubelet, which may be empty; None for any other user."""
    if not user.name.startswith(_USER_PREFIX) or _NODES_GROUP not in user.groups:
        return None
    return user.name.removeprefix(_USER_PREFIX)


class NodeAuthorizer:
    """Decides about the requests of kubelets.

    Some objects, such as new pods, it leaves to the admission plugin NodeRestriction, which sees their content.

    Args:
        graph: The objects in use on each node.
        rules: What every kubelet may do to resources that have no rule of their own here.
    """

    def __init__(self, graph: NodeGraph, rules: RuleSet) -> None:
        self._graph = graph
        self._rules = rules
        self._deciders: dict[tuple[str, str], Callable[[str, AuthorizationAttributes], Outcome]] = {
            ("", "secrets"): self._decide_read,
            ("", "configmaps"): self._decide_read,
            ("", "persistentvolumeclaims"): self._decide_claim,
            ("", "persistentvolumes"): self._decide_get,
            ("resource.k8s.io", "resourceclaims"): self._decide_get,
            ("storage.k8s.io", "volumeattachments"): self._decide_get,
            ("", "serviceaccounts"): self._decide_account,
            ("coordination.k8s.io", "leases"): _decide_lease,
            ("storage.k8s.io", "csinodes"): _decide_csi_node,
            ("resource.k8s.io", "resourceslices"): self._decide_slice,
            ("", "nodes"): _decide_node,
            ("", "pods"): self._decide_pod,
        }

    def authorize(self, attributes: AuthorizationAttributes) -> Outcome:
        """Decide about a request; no opinion about the requests of other users."""
        node = node_name_of(attributes.user)
        if node is None:
            return _refuse()
        if not node:
            return _refuse(f"unknown node for user {quoted(attributes.user.name)}")
        decide = self._deciders.get((attributes.group, attributes.resource))
        # These resources are never decided by the rules of all kubelets, which are wider.
        if decide is not None and attributes.is_resource_request:
            return decide(node, attributes)
        return _ALLOWED if self._rules.allows(attributes) else _refuse()

    def rules_for(self, user: UserInfo, _namespace: str) -> UserRules:
        """Return no rules: those of a kubelet depend on the objects of its node."""
        if node_name_of(user) is None:
            return UserRules()
        problem = "node authorizer does not support user rule resolution"
        return UserRules(is_incomplete=True, errors=(problem,))

    def _decide_related(self, node: str, attributes: AuthorizationAttributes) -> Outcome:
        if not attributes.name:
            return _refuse("No Object name found")
        vertex = Vertex(attributes.resource, attributes.namespace, attributes.name)
        if self._graph.leads_to(vertex, node):
            return _ALLOWED
        return _refuse(f"no relationship found between node '{node}' and this object")

    def _decide_get(self, node: str, attributes: AuthorizationAttributes) -> Outcome:
        if attributes.verb != "get":
            return _refuse("can only get individual resources of this type")
        if attributes.subresource:
            return _refuse("cannot get subresource")
        return self._decide_related(node, attributes)

    def _decide_read(self, node: str, attributes: AuthorizationAttributes) -> Outcome:
        if attributes.verb not in _READ:
            return _refuse("can only read resources of this type")
        if attributes.subresource:
            return _refuse("cannot read subresource")
        if not attributes.namespace:
            return _refuse("can only read namespaced object of this type")
        return self._decide_related(node, attributes)

    def _decide_claim(self, node: str, attributes: AuthorizationAttributes) -> Outcome:
        if attributes.subresource != "status":
            return self._decide_get(node, attributes)
        if attributes.verb not in {"update", "patch"}:
            return _refuse("can only get/update/patch this type")
        return self._decide_related(node, attributes)

    def _decide_account(self, node: str, attributes: AuthorizationAttributes) -> Outcome:
        if attributes.verb == "get" and not attributes.subresource:
            return self._decide_read(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return _refuse("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return _refuse("can only create token subresource of serviceaccount")
        return self._decide_related(node, attributes)

    def _decide_slice(self, node: str, attributes: AuthorizationAttributes) -> Outcome:
        verb = attributes.verb
        if attributes.subresource:
            return _refuse("cannot authorize ResourceSlice subresources")
        # NodeRestriction compares the node of a new slice.
        if verb == "create":
            return _ALLOWED
        if verb in {"get", "update", "patch", "delete"}:
            return self._decide_related(node, attributes)
        if verb not in {"watch", "list", "deletecollection"}:
            verbs = "get, watch, list, create, update, patch, delete, deletecollection"
            return _refuse(f"only the following verbs are allowed for a ResourceSlice: {verbs}")
        if _selects(attributes, "spec.nodeName", node):
            return _ALLOWED
        return _refuse("can only list/watch/deletecollection resourceslices with nodeName field selector")

    def _decide_pod(self, node: str, attributes: AuthorizationAttributes) -> Outcome:
        verb, subresource = attributes.verb, attributes.subresource
        if (subresource, verb) in _POD_WRITES:
            return _ALLOWED
        if subresource or verb not in _READ:
            return _refuse()
        if verb == "get":
            return self._decide_get(node, attributes)
        if _selects(attributes, "spec.nodeName", node):
            return _ALLOWED
        if attributes.name:
            return self._decide_related(node, attributes)
        return _refuse("can only list/watch pods with spec.nodeName field selector")


def _decide_node(node: str, attributes: AuthorizationAttributes) -> Outcome:
    verb, name = attributes.verb, attributes.name
    if (attributes.subresource, verb) in _NODE_WRITES:
        return _ALLOWED
    if attributes.subresource or verb not in _READ:
        return _refuse()
    # By name and not by the graph, because a kubelet reads its node before it creates it.
    if name == node:
        return _ALLOWED
    what = f"'{name}'" if name else "all nodes"
    return _refuse(f"node '{node}' cannot read {what}, only its own Node object")


def _decide_lease(node: str, attributes: AuthorizationAttributes) -> Outcome:
    if attributes.verb not in _OWN_OBJECT_VERBS:
        return _refuse("can only get, create, update, patch, or delete a node lease")
    if attributes.namespace != _LEASE_NAMESPACE:
        return _refuse(f"can only access leases in the {quoted(_LEASE_NAMESPACE)} system namespace")
    # The name of a new object is in its body.
    if attributes.verb != "create" and attributes.name != node:
        return _refuse("can only access node lease with the same name as the requesting node")
    return _ALLOWED


def _decide_csi_node(node: str, attributes: AuthorizationAttributes) -> Outcome:
    if attributes.verb not in _OWN_OBJECT_VERBS:
        return _refuse("can only get, create, update, patch, or delete a CSINode")
    if attributes.subresource:
        return _refuse("cannot authorize CSINode subresources")
    if attributes.verb != "create" and attributes.name != node:
        return _refuse("can only access CSINode with the same name as the requesting node")
    return _ALLOWED


def _selects(attributes: AuthorizationAttributes, field: str, value: str) -> bool:
    """Tell whether the field selector of a request requires a value."""
    try:
        requirements = fields.parse(attributes.field_selector).requirements
    except SelectorError:
        return False
    return any(
        requirement.key == field and requirement.value == value and requirement.operator == Operator.EQUALS
        for requirement in requirements
    )


def _refuse(reason: str = "") -> Outcome:
    return Outcome(Decision.NO_OPINION, reason)


_POD_WRITES: Final[Collection[tuple[str, str]]] = frozenset(
    {("", "create"), ("", "delete"), ("status", "update"), ("status", "patch"), ("eviction", "create")}
)
"""The writes of pods, by subresource and verb, of which NodeRestriction sees the objects."""
_NODE_WRITES: Final[Collection[tuple[str, str]]] = frozenset(
    {("", "create"), ("", "update"), ("", "patch"), ("status", "update"), ("status", "patch")}
)
"""The writes of nodes, by subresource and verb, of which NodeRestriction sees the objects."""
