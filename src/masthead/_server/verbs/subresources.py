"""Parts of objects that are kinds of their own: scales, bindings, evictions, tokens."""

from __future__ import annotations

import base64
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta.labels import from_label_selector
from masthead._meta.registry import registry
from masthead._meta.v1 import LabelSelector
from masthead._server.clock import stamp
from masthead._server.verbs import bodies, evicting, writing
from masthead._server.wire.failures import (
    Failure,
    bad_request,
    conflict,
    invalid,
    not_supported,
    refused_fields,
    required,
)
from masthead._server.wire.patches import refused_patch
from masthead._server.wire.plain import Plain, metadata, part, text
from masthead._server.wire.request import Answer, json_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.object import Object
    from masthead._server.cluster import Cluster
    from masthead._server.resources.catalog import ServedResource
    from masthead._server.wire.options import WriteOptions
    from masthead._server.wire.request import Request, Target

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


def read(cluster: Cluster, served: ServedResource, target: Target) -> Answer:
    """Answer a GET of a part.

    Raises:
        Failure: There is no such object, or nothing behind it that could answer.
    """
    record = cluster.find(served, target.namespace, target.name)
    if target.subresource in _GENERIC:
        return Answer(200, served.write(record.value))
    if target.subresource == _SCALE:
        return json_answer(200, _scale_of(served, served.load(record)))
    raise _nobody_there(served, target)


def update(
    cluster: Cluster, served: ServedResource, target: Target, request: Request, options: WriteOptions
) -> Answer:
    """Answer a PUT of a part that is a kind of its own.

    Raises:
        Failure: It is refused.
    """
    if target.subresource != _SCALE:
        raise _nobody_there(served, target)
    scale = bodies.read_part(request, _kind_of(served, target), options)
    writing.check_names(scale, target.namespace, target.name, is_namespaced=True)
    return _rescale(cluster, served, target, lambda _: scale, options, is_put=True)


def patch(
    cluster: Cluster,
    served: ServedResource,
    target: Target,
    apply: Callable[[Plain], Plain],
    options: WriteOptions,
) -> Answer:
    """Answer a PATCH of a part that is a kind of its own.

    Raises:
        Failure: It is refused.
    """
    if target.subresource != _SCALE:
        raise _nobody_there(served, target)
    kind = _kind_of(served, target)

    def patched(scale: Plain) -> Plain:
        return bodies.clean(apply(scale), kind, options, [], refused_patch)

    return _rescale(cluster, served, target, patched, options)


def create(
    cluster: Cluster, served: ServedResource, target: Target, request: Request, options: WriteOptions
) -> Answer:
    """Answer a POST to a part of an object.

    Raises:
        Failure: It is refused.
    """
    acts = {"binding": _bind, "eviction": _evict, "token": _issue_token}
    act = acts.get(target.subresource)
    if act is None:
        raise _nobody_there(served, target)
    older = evicting.OLDER_VERSIONS if target.subresource == "eviction" else ()
    body = bodies.read_part(request, _kind_of(served, target), options, older=older)
    writing.check_names(body, target.namespace, "", is_namespaced=True)
    return act(cluster, served, target, body, options)


def _rescale(
    cluster: Cluster,
    served: ServedResource,
    target: Target,
    change: Callable[[Plain], Plain],
    options: WriteOptions,
    *,
    is_put: bool = False,
) -> Answer:
    def rescaled(old: Plain | None) -> Plain:
        found: Plain = old or {}
        scale = change(_scale_of(served, found))
        replicas = part(scale, "spec").get("replicas", 0)
        if replicas < 0:
            problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise refused_fields("autoscaling", "Scale", target.name, [problem])
        for field in ("resourceVersion", "uid"):
            wanted = text(part(scale, "metadata"), field)
            if wanted:
                metadata(found)[field] = wanted
            elif field == "resourceVersion":
                metadata(found).pop(field, None)
        found.setdefault("spec", {})["replicas"] = replicas
        return found

    written = writing.update(cluster, served, target.namespace, target.name, rescaled, options, is_put=is_put)
    return json_answer(200, _scale_of(served, msgspec.json.decode(written.body)))


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
    cluster: Cluster, served: ServedResource, target: Target, body: Plain, options: WriteOptions
) -> Answer:
    """Give a pod its node."""
    if text(part(body, "metadata"), "name") != target.name:
        raise bad_request("name in URL does not match name in Binding object")
    node = text(part(body, "target"), "name")
    kind = text(part(body, "target"), "kind")
    if kind not in {"", "Node"}:
        problem = not_supported("target.kind", kind, ("Node", "<empty>"))
        raise Failure(500, "", str(problem))
    if not node:
        raise Failure(500, "", str(required("target.name")))

    def bound(old: Plain | None) -> Plain:
        found: Plain = old or {}
        current = part(found, "spec").get("nodeName")
        if current:
            problem = f"pod {target.name} is already assigned to node {current!r}".replace("'", '"')
            raise conflict(served.group, "pods/binding", target.name, problem)
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

    writing.update(cluster, served, target.namespace, target.name, bound, options, subresource="binding")
    return json_answer(201, {**_SUCCESS, "code": 201})


def _evict(
    cluster: Cluster, served: ServedResource, target: Target, body: Plain, options: WriteOptions
) -> Answer:
    """Delete a pod as kindly as the eviction and its budget say."""
    evicting.evict(cluster, served, target.namespace, target.name, body, options)
    return json_answer(201, {**_SUCCESS, "code": 201})


def _issue_token(
    cluster: Cluster, served: ServedResource, target: Target, body: Plain, options: WriteOptions
) -> Answer:
    """Make a token for a service account; it opens nothing, but looks like one and says when it expires."""
    del options
    cluster.find(served, target.namespace, target.name)
    spec = part(body, "spec")
    spec.setdefault("expirationSeconds", 3600)
    _check_lifetime(spec["expirationSeconds"])
    expires = cluster.clock.now() + timedelta(seconds=spec["expirationSeconds"])
    subject = f"system:serviceaccount:{target.namespace}:{target.name}"
    claims = msgspec.json.encode({"sub": subject, "exp": int(expires.timestamp())})
    pieces = [b'{"alg":"none"}', claims, secrets.token_bytes(16)]
    token = ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in pieces)
    meta = {"name": target.name, "namespace": target.namespace, "creationTimestamp": cluster.now()}
    return json_answer(
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


def _kind_of(served: ServedResource, target: Target) -> type[Object]:
    described = served.resource.subresource(target.subresource)
    if described is None:
        raise _nobody_there(served, target)
    return registry.object_class(described.kind)


def _nobody_there(served: ServedResource, target: Target) -> Failure:
    message = (
        f"{served.name}/{target.subresource} needs a node that runs pods, and this server has none; "
        "point the same code at a cluster for that"
    )
    return Failure(501, "NotImplemented", message)
