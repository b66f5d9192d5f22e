"""Tokens of service accounts that kubelets request for their pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.admission.lookup import find_object
from masthead_server.admission.refusals import forbid
from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.resources.validation.checks import words
from masthead_server.wire.failures import not_found
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = ["check_token"]


def check_token(cluster: ClusterState, attributes: AdmissionAttributes, node: str) -> None:
    """Check that a requested token is bound to a pod on the node, for an audience that the pod uses.

    Raises:
        StatusFailure: If it is not.
    """
    spec = part(attributes.object or {}, "spec")
    reference = part(spec, "boundObjectRef")
    if (text(reference, "apiVersion"), text(reference, "kind")) != ("v1", "Pod") or not text(reference, "name"):
        raise forbid(attributes, "node requested token not bound to a pod")
    uid = text(reference, "uid")
    if not uid:
        raise forbid(attributes, "node requested token with a pod binding without a uid")
    pod = find_object(cluster, "", "v1", "pods", text(reference, "name"), attributes.namespace)
    if pod is None:
        raise not_found("", "pods", text(reference, "name"))
    if uid != text(part(pod, "metadata"), "uid"):
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record."
        raise forbid(attributes, f"{why} The object might have been deleted and then recreated")
    if text(part(pod, "spec"), "nodeName") != node:
        raise forbid(attributes, "node requested token bound to a pod scheduled on a different node")
    audiences = words(spec, "audiences")
    if len(audiences) > 1:
        raise forbid(attributes, "node may only request 0 or 1 audiences")
    _check_audience(cluster, attributes, pod, audiences[0] if audiences else "")


def _check_audience(cluster: ClusterState, attributes: AdmissionAttributes, pod: Plain, audience: str) -> None:
    if _uses_audience(cluster, pod, attributes.namespace, audience):
        return
    user = attributes.user
    wanted = AuthorizationAttributes(
        user,
        "request-serviceaccounts-token-audience",
        attributes.namespace,
        version="v1",
        resource=audience,
        name=attributes.name,
    )
    if not cluster.authorizer.authorize(wanted).is_allowed:
        why = f"audience {quoted(audience)} not found in pod spec volume"
        raise forbid(attributes, f"{why}, {user.name} is not authorized to request tokens for this audience")


def _uses_audience(cluster: ClusterState, pod: Plain, namespace: str, audience: str) -> bool:
    for volume in items(part(pod, "spec"), "volumes"):
        for source in items(part(volume, "projected"), "sources"):
            token = source.get("serviceAccountToken")
            if token is not None and text(token, "audience") == audience:
                return True
        driver = _find_driver(cluster, pod, namespace, volume)
        found = find_object(cluster, "storage.k8s.io", "v1", "csidrivers", driver) if driver else None
        requests = items(part(found or {}, "spec"), "tokenRequests")
        if any(text(request, "audience") == audience for request in requests):
            return True
    return False


def _find_driver(cluster: ClusterState, pod: Plain, namespace: str, volume: Plain) -> str:
    """Return the CSI driver of a volume: named in place, or by the volume that a claim is bound to."""
    if volume.get("csi") is not None:
        return text(part(volume, "csi"), "driver")
    name = text(part(volume, "persistentVolumeClaim"), "claimName")
    if volume.get("ephemeral") is not None:
        name = f"{text(part(pod, 'metadata'), 'name')}-{text(volume, 'name')}"
    claim = find_object(cluster, "", "v1", "persistentvolumeclaims", name, namespace) if name else None
    bound = text(part(claim or {}, "spec"), "volumeName")
    found = find_object(cluster, "", "v1", "persistentvolumes", bound) if bound else None
    return text(part(part(found or {}, "spec"), "csi"), "driver")
