"""Parts of objects that are kinds of their own: scales, bindings, evictions, tokens."""

from __future__ import annotations

import base64
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.labels import from_label_selector
from masthead._meta.v1 import LabelSelector
from masthead._server import scheme
from masthead._server.clock import stamp
from masthead._server.verbs import bodies, eviction, write
from masthead._server.wire.failures import (
    StatusFailure,
    bad_request,
    conflict,
    invalid,
    not_supported,
    refused_fields,
    required,
)
from masthead._server.wire.patches import refused_patch
from masthead._server.wire.plain import Plain, metadata, part, text
from masthead._server.wire.request import ApiResponse, json_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.object import Object
    from masthead._server.cluster import ClusterState
    from masthead._server.resources.resource import ServedResource
    from masthead._server.wire.options import WriteOptions
    from masthead._server.wire.request import ApiRequest
    from masthead._server.wire.request_info import RequestInfo

__all__ = ["create", "is_special", "patch", "read", "update"]

_SCALE: Final = "scale"
_GENERIC: Final = frozenset({"", "status", "finalize", "approval", "ephemeralcontainers", "resize"})
"""Parts that are written as the object itself is."""
_SUCCESS: Final[Plain] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 2**32
"""Seconds for which a token can be asked for, as of the real server."""


def is_special(subresource: str) -> bool:
    """Tell whether a part is a kind of its own."""
    return subresource not in _GENERIC


def read(cluster: ClusterState, served: ServedResource, info: RequestInfo) -> ApiResponse:
    """Answer a GET of a part.

    Raises:
        StatusFailure: There is no such object, or nothing behind it that could answer.
    """
    record = cluster.find(served, info.namespace, info.name)
    if info.subresource in _GENERIC:
        return ApiResponse(200, served.write(record.value))
    if info.subresource == _SCALE:
        return json_response(200, _scale_of(served, served.load(record)))
    raise _nobody_there(served, info)


def update(
    cluster: ClusterState,
    served: ServedResource,
    info: RequestInfo,
    request: ApiRequest,
    options: WriteOptions,
) -> ApiResponse:
    """Answer a PUT of a part that is a kind of its own.

    Raises:
        StatusFailure: It is refused.
    """
    if info.subresource != _SCALE:
        raise _nobody_there(served, info)
    scale = bodies.read_part(request, _kind_of(served, info), options)
    write.check_names(scale, info.namespace, info.name, is_namespaced=True)
    return _rescale(cluster, served, info, lambda _: scale, options, is_put=True)


def patch(
    cluster: ClusterState,
    served: ServedResource,
    info: RequestInfo,
    apply: Callable[[Plain], Plain],
    options: WriteOptions,
) -> ApiResponse:
    """Answer a PATCH of a part that is a kind of its own.

    Raises:
        StatusFailure: It is refused.
    """
    if info.subresource != _SCALE:
        raise _nobody_there(served, info)
    kind = _kind_of(served, info)

    def patched(scale: Plain) -> Plain:
        return bodies.clean(apply(scale), kind, options, [], refused_patch)

    return _rescale(cluster, served, info, patched, options)


def create(
    cluster: ClusterState,
    served: ServedResource,
    info: RequestInfo,
    request: ApiRequest,
    options: WriteOptions,
) -> ApiResponse:
    """Answer a POST to a part of an object.

    Raises:
        StatusFailure: It is refused.
    """
    acts = {"binding": _bind, "eviction": _evict, "token": _issue_token}
    act = acts.get(info.subresource)
    if act is None:
        raise _nobody_there(served, info)
    older = eviction.OLDER_VERSIONS if info.subresource == "eviction" else ()
    body = bodies.read_part(request, _kind_of(served, info), options, older=older)
    write.check_names(body, info.namespace, "", is_namespaced=True)
    return act(cluster, served, info, body, options)


def _rescale(
    cluster: ClusterState,
    served: ServedResource,
    info: RequestInfo,
    change: Callable[[Plain], Plain],
    options: WriteOptions,
    *,
    is_put: bool = False,
) -> ApiResponse:
    def rescaled(old: Plain | None) -> Plain:
        found: Plain = old or {}
        scale = change(_scale_of(served, found))
        replicas = part(scale, "spec").get("replicas", 0)
        if replicas < 0:
            problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise refused_fields("autoscaling", "Scale", info.name, [problem])
        for field in ("resourceVersion", "uid"):
            wanted = text(part(scale, "metadata"), field)
            if wanted:
                metadata(found)[field] = wanted
            elif field == "resourceVersion":
                metadata(found).pop(field, None)
        found.setdefault("spec", {})["replicas"] = replicas
        return found

    written = write.update(cluster, served, info.namespace, info.name, rescaled, options, is_put=is_put)
    return json_response(200, _scale_of(served, msgspec.json.decode(written.body)))


def _scale_of(served: ServedResource, found: Plain) -> Plain:
    meta, spec, status = part(found, "metadata"), part(found, "spec"), part(found, "status")
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = spec.get("replicas", 1 if served.group == "" else 0)
    matching = part(spec, "selector")
    if served.name == "replicationcontrollers":
        matching = {"matchLabels": matching}
    scale_status: Plain = {"replicas": status.get("replicas", 0)}
    if shown := str(from_label_selector(LabelSelector.from_dict(matching))):
        scale_status["selector"] = shown
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in kept if field in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": scale_status,
    }


def _bind(
    cluster: ClusterState, served: ServedResource, info: RequestInfo, body: Plain, options: WriteOptions
) -> ApiResponse:
    """Give a pod its node."""
    if text(part(body, "metadata"), "name") != info.name:
        raise bad_request("name in URL does not match name in Binding object")
    node = text(part(body, "target"), "name")
    kind = text(part(body, "target"), "kind")
    if kind not in {"", "Node"}:
        problem = not_supported("target.kind", kind, ("Node", "<empty>"))
        raise StatusFailure(500, "", str(problem))
    if not node:
        raise StatusFailure(500, "", str(required("target.name")))

    def bound(old: Plain | None) -> Plain:
        found: Plain = old or {}
        current = part(found, "spec").get("nodeName")
        if current:
            problem = f"pod {info.name} is already assigned to node {current!r}".replace("'", '"')
            raise conflict(served.group, "pods/binding", info.name, problem)
        found.setdefault("spec", {})["nodeName"] = node
        found.setdefault("status", {}).setdefault("conditions", []).append(
            {
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": cluster.now(),
            }
        )
        return found

    write.update(cluster, served, info.namespace, info.name, bound, options, subresource="binding")
    return json_response(201, {**_SUCCESS, "code": 201})


def _evict(
    cluster: ClusterState, served: ServedResource, info: RequestInfo, body: Plain, options: WriteOptions
) -> ApiResponse:
    """Delete a pod as kindly as the eviction and its budget say."""
    eviction.evict(cluster, served, info.namespace, info.name, body, options)
    return json_response(201, {**_SUCCESS, "code": 201})


def _issue_token(
    cluster: ClusterState, served: ServedResource, info: RequestInfo, body: Plain, options: WriteOptions
) -> ApiResponse:
    """Make a token for a service account; it opens nothing, but looks like one and says when it expires."""
    del options
    cluster.find(served, info.namespace, info.name)
    spec = part(body, "spec")
    spec.setdefault("expirationSeconds", 3600)
    _check_lifetime(spec["expirationSeconds"])
    expires = cluster.clock.now() + timedelta(seconds=spec["expirationSeconds"])
    subject = f"system:serviceaccount:{info.namespace}:{info.name}"
    claims = msgspec.json.encode({"sub": subject, "exp": int(expires.timestamp())})
    pieces = [b'{"alg":"none"}', claims, secrets.token_bytes(16)]
    token = ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in pieces)
    meta = {"name": info.name, "namespace": info.namespace, "creationTimestamp": cluster.now()}
    return json_response(
        201,
        {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": meta,
            "spec": spec,
            "status": {"token": token, "expirationTimestamp": stamp(expires)},
        },
    )


def _check_lifetime(seconds: int) -> None:
    if seconds < _SHORTEST_TOKEN:
        problem = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST_TOKEN:
        problem = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    error = invalid("spec.expirationSeconds", seconds, problem)
    raise refused_fields("authentication.k8s.io", "TokenRequest", "", [error])


def _kind_of(served: ServedResource, info: RequestInfo) -> type[Object]:
    described = served.resource.subresource(info.subresource)
    if described is None:
        raise _nobody_there(served, info)
    return scheme.object_class(described.kind)


def _nobody_there(served: ServedResource, info: RequestInfo) -> StatusFailure:
    message = (
        f"{served.name}/{info.subresource} needs a node that runs pods, and this server has none; "
        "point the same code at a cluster for that"
    )
    return StatusFailure(501, "NotImplemented", message)
