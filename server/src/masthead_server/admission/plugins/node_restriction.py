"""NodeRestriction: kubelets write only their own node and its objects. Off by default, but on in most clusters."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.node_labels import list_forbidden_labels
from masthead_server.admission.node_tokens import check_token
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.pod_references import find_reference
from masthead_server.admission.refusals import forbid
from masthead_server.authorization.node import node_name_of
from masthead_server.resources.validation.checks import same
from masthead_server.wire.certificate_requests import list_common_names
from masthead_server.wire.failures import not_found
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["NodeRestriction"]

_LEASE_NAMESPACE: Final = "kube-node-lease"
_MIRROR: Final = "kubernetes.io/config.mirror"
_KUBELET_SIGNERS: Final = frozenset({"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"})
_CLAIM_STATUS: Final = frozenset({"capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"})


class NodeRestriction(AdmissionPlugin):
    """Refuses writes of kubelets that reach beyond their node."""

    name = "NodeRestriction"

    def __init__(self, cluster: ClusterState) -> None:
        super().__init__(cluster)
        self._checks: dict[str, Callable[[AdmissionAttributes, str], None]] = {
            "pods": self._check_pod,
            "nodes": _check_node,
            "persistentvolumeclaims": _check_claim,
            "serviceaccounts": self._check_account,
            "coordination.k8s.io/leases": _check_lease,
            "storage.k8s.io/csinodes": _check_csi_node,
            "resource.k8s.io/resourceslices": _check_slice,
            "certificates.k8s.io/certificatesigningrequests": _check_request,
        }

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:  # noqa: ARG002
        """Tell whether the operation writes something that kubelets write."""
        return operation is not Operation.CONNECT and served.table in self._checks

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Check a write of a kubelet; other users are not restricted."""
        node = node_name_of(attributes.user)
        if node is None:
            return
        if not node:
            raise forbid(attributes, f"could not determine node from user {quoted(attributes.user.name)}")
        self._checks[attributes.served.table](attributes, node)

    def _check_pod(self, attributes: AdmissionAttributes, node: str) -> None:
        match attributes.subresource:
            case "" if attributes.operation is Operation.CREATE:
                self._check_new_pod(attributes, node)
            case "" if attributes.operation is Operation.DELETE:
                if _node_of(attributes.old) != node:
                    why = f"node {quoted(node)} can only delete pods with spec.nodeName set to itself"
                    raise forbid(attributes, why)
            case "":
                why = f'unexpected operation "UPDATE", node {quoted(node)} can only create and delete mirror pods'
                raise forbid(attributes, why)
            case "status":
                _check_pod_status(attributes, node)
            case "eviction":
                pod = find_object(self.cluster, "", "v1", "pods", attributes.name, attributes.namespace)
                if pod is None:
                    raise not_found("", "pods", attributes.name)
                if _node_of(pod) != node:
                    raise forbid(attributes, f"node {node} can only evict pods with spec.nodeName set to itself")
            case other:
                why = f"unexpected pod subresource {quoted(other)}, only 'status' and 'eviction' are allowed"
                raise forbid(attributes, why)

    def _check_new_pod(self, attributes: AdmissionAttributes, node: str) -> None:
        pod = attributes.object or {}
        meta, quoted_node = part(pod, "metadata"), quoted(node)
        if _MIRROR not in part(meta, "annotations"):
            why = f"pod does not have {quoted(_MIRROR)} annotation, node {quoted_node} can only create mirror pods"
            raise forbid(attributes, why)
        if _node_of(pod) != node:
            raise forbid(attributes, f"node {quoted_node} can only create pods with spec.nodeName set to itself")
        self._check_owner(attributes, node, items(meta, "ownerReferences"))
        if reference := find_reference(part(pod, "spec")):
            raise forbid(attributes, f"node {quoted_node} can not create pods that reference {reference}")

    def _check_owner(self, attributes: AdmissionAttributes, node: str, owners: list[Plain]) -> None:
        """Check that the node itself owns a mirror pod."""
        start = f"node {quoted(node)} can only create pods with"
        if len(owners) > 1:
            raise forbid(attributes, f"{start} a single owner reference set to itself")
        owner = owners[0] if owners else {}
        if (text(owner, "apiVersion"), text(owner, "kind"), text(owner, "name")) != ("v1", "Node", node):
            raise forbid(attributes, f"{start} an owner reference set to itself")
        if not owner.get("controller"):
            raise forbid(attributes, f"{start} a controller owner reference set to itself")
        if owner.get("blockOwnerDeletion"):
            raise forbid(attributes, f"node {quoted(node)} must not set blockOwnerDeletion on an owner reference")
        found = find_object(self.cluster, "", "v1", "nodes", node)
        if found is None:
            raise not_found("", "nodes", node)
        uid, actual = text(owner, "uid"), text(part(found, "metadata"), "uid")
        if uid != actual:
            raise forbid(attributes, f"node {node} UID mismatch: expected {uid} got {actual}")

    def _check_account(self, attributes: AdmissionAttributes, node: str) -> None:
        if attributes.operation is Operation.CREATE and attributes.subresource == "token":
            check_token(self.cluster, attributes, node)


def _node_of(pod: Plain | None) -> str:
    return text(part(pod or {}, "spec"), "nodeName")


def _check_pod_status(attributes: AdmissionAttributes, node: str) -> None:
    new, old = attributes.object or {}, attributes.old or {}
    if _node_of(old) != node:
        why = f"node {quoted(node)} can only update pod status for pods with spec.nodeName set to itself"
        raise forbid(attributes, why)
    if part(part(new, "metadata"), "labels") != part(part(old, "metadata"), "labels"):
        raise forbid(attributes, f"node {quoted(node)} cannot update labels through pod status")
    after, before = part(new, "status"), part(old, "status")
    if not same(after.get("resourceClaimStatuses"), before.get("resourceClaimStatuses")):
        raise forbid(attributes, f"node {quoted(node)} cannot update resource claim statues")
    if not same(after.get("extendedResourceClaimStatus"), before.get("extendedResourceClaimStatus")):
        raise forbid(attributes, f"node {quoted(node)} cannot update extended resource claim status")


def _check_node(attributes: AdmissionAttributes, node: str) -> None:
    if attributes.name != node:
        why = f"node {quoted(node)} is not allowed to modify node {quoted(attributes.name)}"
        raise forbid(attributes, why)
    if attributes.operation is Operation.DELETE:
        return
    new, old = attributes.object or {}, attributes.old or {}
    spec, stored = part(new, "spec"), part(old, "spec")
    is_creation = attributes.operation is Operation.CREATE
    source = spec.get("configSource")
    if source is not None and is_creation:
        raise forbid(attributes, f"node {quoted(node)} is not allowed to create pods with a non-nil configSource")
    if source is not None and not same(source, stored.get("configSource")):
        why = f"node {quoted(node)} is not allowed to update configSource to a new non-nil configSource"
        raise forbid(attributes, why)
    if not is_creation and not same(spec.get("taints"), stored.get("taints")):
        raise forbid(attributes, f"node {quoted(node)} is not allowed to modify taints")
    meta, stored_meta = part(new, "metadata"), part(old, "metadata")
    if not is_creation and not same(meta.get("ownerReferences"), stored_meta.get("ownerReferences")):
        raise forbid(attributes, f"node {quoted(node)} is not allowed to modify ownerReferences")
    if labels := list_forbidden_labels(part(meta, "labels"), part(stored_meta, "labels")):
        start = (
            f"node {quoted(node)} is not allowed to set the following labels"
            if is_creation
            else "is not allowed to modify labels"
        )
        raise forbid(attributes, f"{start}: {', '.join(labels)}")


def _check_claim(attributes: AdmissionAttributes, node: str) -> None:
    if attributes.subresource != "status":
        raise forbid(attributes, "may only update PVC status")
    new, old = _fix_claim(attributes.object or {}), _fix_claim(attributes.old or {})
    if not same(new, old):
        # differs from kube-apiserver, which appends the difference.
        why = f"node {quoted(node)} is not allowed to update fields other than status.quantity and status.conditions"
        raise forbid(attributes, why)


def _fix_claim(claim: Plain) -> Plain:
    """Return a claim without the fields that a kubelet may change."""
    meta, status = part(claim, "metadata"), part(claim, "status")
    fixed = {name: value for name, value in meta.items() if name not in {"resourceVersion", "managedFields"}}
    kept = {name: value for name, value in status.items() if name not in _CLAIM_STATUS}
    return {**claim, "metadata": fixed, "status": kept}


def _check_lease(attributes: AdmissionAttributes, node: str) -> None:
    if attributes.namespace != _LEASE_NAMESPACE:
        raise forbid(attributes, f"can only access leases in the {quoted(_LEASE_NAMESPACE)} system namespace")
    if attributes.name != node:
        raise forbid(attributes, "can only access node lease with the same name as the requesting node")


def _check_csi_node(attributes: AdmissionAttributes, node: str) -> None:
    if attributes.name != node:
        raise forbid(attributes, "can only access CSINode with the same name as the requesting node")


def _check_slice(attributes: AdmissionAttributes, node: str) -> None:
    found = attributes.old if attributes.operation is Operation.DELETE else attributes.object
    if attributes.operation is not Operation.UPDATE and _node_of(found) != node:
        verb = attributes.operation.value.lower()
        raise forbid(attributes, f"can only {verb} ResourceSlice with the same NodeName as the requesting node")


def _check_request(attributes: AdmissionAttributes, node: str) -> None:
    spec = part(attributes.object or {}, "spec")
    if attributes.operation is not Operation.CREATE or text(spec, "signerName") not in _KUBELET_SIGNERS:
        return
    try:
        names = list_common_names(base64.b64decode(text(spec, "request")))
    except ValueError as error:
        raise forbid(attributes, f"unable to parse csr: {error}") from None
    if names[-1:] != [f"system:node:{node}"]:
        raise forbid(attributes, f"can only create a node CSR with CN=system:node:{node}")
