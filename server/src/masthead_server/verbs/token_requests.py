"""Token requests: a POST to the subresource ``token`` of a service account issues a token for it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead._schema.errors import invalid
from masthead_server.authentication.service_accounts import API_AUDIENCES, account_name
from masthead_server.clock import stamp
from masthead_server.wire.failures import bad_request, conflict, refused_fields
from masthead_server.wire.plain import Plain, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["issue_token", "set_defaults"]

_GROUP: Final = "authentication.k8s.io"
_MIN_SECONDS: Final = 600
_MAX_SECONDS: Final = 2**32
_DEFAULT_SECONDS: Final = 3600
_PROJECTED_SECONDS: Final = 3607
"""What kubelets ask for on behalf of old clients, which do not read their token again; such a token lives longer."""
_EXTENDED_SECONDS: Final = 365 * 24 * 3600
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
"""The core kinds that a token may be bound to, and their resources."""


def issue_token(cluster: ClusterState, served: ServedResource, namespace: str, name: str, request: Plain) -> Plain:
    """Return the TokenRequest with its token.

    Raises:
        StatusFailure: If the request is refused, or an object does not exist.
    """
    if cluster.admission.checks_namespaces:
        cluster.check_namespace(served, namespace, name)
    _check_names(request, namespace, name)
    account = served.load(cluster.find(served, namespace, name))
    uid = text(metadata(account), "uid")
    wanted = text(part(request, "metadata"), "uid")
    if wanted and wanted != uid:
        problem = f"the UID in the token request ({wanted}) does not match the UID of the service account ({uid})"
        raise conflict(_GROUP, "TokenRequest", name, problem)
    spec = part(request, "spec")
    spec["audiences"] = spec.get("audiences") or list(API_AUDIENCES)
    seconds: int = spec["expirationSeconds"]
    _check_lifetime(seconds)
    private = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
    reference = spec.get("boundObjectRef")
    bound = {} if reference is None else _bind(cluster, namespace, name, reference)
    now = cluster.clock.now()
    lifetime = seconds
    if seconds == _PROJECTED_SECONDS and "pod" in bound and {*spec["audiences"]} <= {*API_AUDIENCES}:
        bound["warnafter"] = int(now.timestamp()) + seconds
        lifetime = _EXTENDED_SECONDS
    subject = account_name(namespace, name)
    token = cluster.tokens.accounts.issue(subject, private | bound, spec["audiences"], lifetime)
    own = {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": stamp(now)}
    expires = stamp(now + timedelta(seconds=seconds))
    return {
        "metadata": part(request, "metadata") | own,
        "spec": spec,
        "status": {"token": token, "expirationTimestamp": expires},
    }


def set_defaults(request: Plain) -> None:
    """Set the lifetime of a token that a client left out."""
    spec: Plain = request.get("spec") or {}
    request["spec"] = spec
    if spec.get("expirationSeconds") is None:  # an explicit null, too
        spec["expirationSeconds"] = _DEFAULT_SECONDS


def _check_names(request: Plain, namespace: str, name: str) -> None:
    meta = part(request, "metadata")
    for field, expected in (("name", name), ("namespace", namespace)):
        sent = text(meta, field)
        if sent and sent != expected:
            problem = f"must match the service account {field} if specified"
            raise refused_fields(_GROUP, "TokenRequest", name, [invalid(f"metadata.{field}", sent, problem)])


def _check_lifetime(seconds: int) -> None:
    if seconds < _MIN_SECONDS:
        problem = "may not specify a duration less than 10 minutes"
    elif seconds > _MAX_SECONDS:
        problem = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    error = invalid("spec.expirationSeconds", seconds, problem)
    raise refused_fields(_GROUP, "TokenRequest", "", [error])


def _bind(cluster: ClusterState, namespace: str, account: str, reference: Plain) -> Plain:
    """Return the claims about the object that a token is bound to.

    Raises:
        StatusFailure: If there is no such object, or if no token may be bound to it.
    """
    kind, name = text(reference, "kind"), text(reference, "name")
    group, _, version = text(reference, "apiVersion").rpartition("/")
    if group or kind not in _BINDABLE:
        shown = f"{group}/{version}, Kind={kind}"
        raise bad_request(f"cannot bind token to object of type {shown}")
    if not name:
        raise bad_request("Name parameter required.")
    served = cluster.catalog.require(GroupVersionResource("", "v1", _BINDABLE[kind]))
    found = served.load(cluster.find(served, namespace if served.is_namespaced else "", name))
    claims: Plain = {kind.lower(): _claim(found)}
    if kind == "Pod":
        spec = part(found, "spec")
        if text(spec, "serviceAccountName") != account:
            problem = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount'
            raise bad_request(f"{problem} name.")
        if node := text(spec, "nodeName"):
            claims["node"] = _claim_node(cluster, node)
    uid, wanted = text(metadata(found), "uid"), text(reference, "uid")
    if wanted and wanted != uid:
        problem = (
            f"the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have "
            "been deleted and then recreated"
        )
        raise conflict("", kind, name, problem)
    return claims


def _claim_node(cluster: ClusterState, name: str) -> Plain:
    served = cluster.catalog.require(GroupVersionResource("", "v1", "nodes"))
    record = cluster.storage.table(served.table).get(name)
    # The name of a missing node still shows where the pod runs.
    return {"name": name} if record is None else _claim(served.load(record))


def _claim(found: Plain) -> Plain:
    meta = metadata(found)
    return {"name": text(meta, "name"), "uid": text(meta, "uid")}
