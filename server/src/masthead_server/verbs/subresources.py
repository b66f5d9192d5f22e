"""Subresources, above all those with a separate kind: scales, bindings, evictions, tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._schema.errors import not_supported, required
from masthead_server import scheme
from masthead_server.admission.attributes import Operation
from masthead_server.field_managers.own_entries import own_entry
from masthead_server.resources.codec import KindDecoder
from masthead_server.resources.scale import ReplicaScale
from masthead_server.verbs import bodies, eviction, token_requests, write
from masthead_server.verbs.pod_binding import bind_pod
from masthead_server.verbs.write_steps import check_names
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.plain import Plain, metadata, part, text, without_managed_fields
from masthead_server.wire.request import ApiResponse, json_response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.resources.scale import ScaleView
    from masthead_server.verbs.patch import RequestPatch
    from masthead_server.verbs.representation import Representation
    from masthead_server.verbs.write_context import WriteContext
    from masthead_server.wire.request import ApiRequest
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["apply", "bind", "create", "is_special", "patch", "read", "set_replicas", "update"]

_SCALE: Final = "scale"
_GENERIC: Final = frozenset({"", "status", "finalize", "approval", "ephemeralcontainers", "resize"})
"""Subresources that are written as the object itself is; empty for the object."""
_REPLICAS: Final = ReplicaScale()
_SUCCESS: Final[Plain] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def is_special(subresource: str) -> bool:
    """Tell whether a subresource has a separate kind, such as Scale."""
    return subresource not in _GENERIC


def read(cluster: ClusterState, served: ServedResource, info: RequestInfo, representation: Representation) -> bytes:
    """Write the body of the response to a GET of a subresource.

    Raises:
        StatusFailure: If there is no such object, or if the subresource needs a node.
    """
    record = cluster.find(served, info.namespace, info.name)
    if info.subresource in _GENERIC:
        return representation.one(record.value)
    if info.subresource == _SCALE:
        return representation.encoded(msgspec.json.encode(_scale_view(served).read(served.load(record))))
    raise _needs_a_node(served, info.subresource)


async def update(context: WriteContext, request: ApiRequest) -> ApiResponse:
    """Answer a PUT of a subresource with a separate kind.

    Raises:
        StatusFailure: If it is refused.
    """
    _check_is_scale(context)
    scale = bodies.decode(request, _decoder_of(context), context.options)
    check_names(scale, context.namespace, context.name, is_namespaced=True)

    async def copy_scale(_: Plain) -> Plain:
        # A copy for every attempt, which sets the managedFields.
        return {**scale, "metadata": {**metadata(scale)}}

    return await _rescale(context, copy_scale)


async def patch(context: WriteContext, patch: RequestPatch) -> ApiResponse:
    """Answer a PATCH of a subresource with a separate kind.

    Raises:
        StatusFailure: If it is refused.
    """
    _check_is_scale(context)
    decoder, options = _decoder_of(context), context.options

    async def apply_patch(scale: Plain) -> Plain:
        result = patch.apply(scale, decoder.gvk, lenient=options.field_validation == "Ignore")
        errors = result.strict_errors() if options.field_validation != "Ignore" else []
        changed = bodies.drop_unknown(result.content, decoder, options, errors, result.refuse)
        check_names(changed, context.namespace, context.name, is_namespaced=True)
        return changed

    return await _rescale(context, apply_patch)


async def apply(context: WriteContext, request: ApiRequest) -> ApiResponse:
    """Answer a server-side apply of a subresource with a separate kind.

    Raises:
        StatusFailure: If it is refused, or if it conflicts with other managers.
    """
    from masthead_server.field_managers.scale import scale_manager
    from masthead_server.verbs.apply import ApplyTarget, merge_configuration

    _check_is_scale(context)
    target = ApplyTarget(scale_manager(), _decoder_of(context), lambda merged: merged)

    async def apply_configuration(scale: Plain) -> Plain:
        found = await merge_configuration(context, request, target, scale)
        check_names(found, context.namespace, context.name, is_namespaced=True)
        return found

    return await _rescale(context, apply_configuration, is_apply=True)


async def create(context: WriteContext, request: ApiRequest) -> ApiResponse:
    """Answer a POST to a subresource.

    Raises:
        StatusFailure: If it is refused.
    """
    act = _CREATE.get(context.subresource)
    if act is None:
        raise _needs_a_node(context.served, context.subresource)
    older = eviction.OLDER_VERSIONS if context.subresource == "eviction" else ()
    body = bodies.decode(request, _decoder_of(context), context.options, older=older)
    check_names(body, context.namespace, "", is_namespaced=True)
    if context.cluster.admission.decides(Operation.CREATE, context.served, context.subresource):
        _track_manager(context, body)
    body = await _admit(context, Operation.CREATE, body, None)
    return await act(replace(context, is_admitted=True), body)


async def bind(context: WriteContext, node: str) -> None:
    """Bind a pod, as a POST of a Binding does.

    Args:
        context: The subresource ``binding`` of the pod.
        node: The node's name.

    Raises:
        StatusFailure: If that is refused.
    """
    body: Plain = {
        "metadata": {"name": context.name, "namespace": context.namespace},
        "target": {"kind": "Node", "name": node},
    }
    body = await _admit(context, Operation.CREATE, body, None)
    await _bind(replace(context, is_admitted=True), body)


async def _admit(context: WriteContext, operation: Operation, body: Plain, old: Plain | None) -> Plain:
    """Have both phases of admission decide about the kind of a subresource; returns the object to go on with."""
    admission = context.cluster.admission
    if not admission.decides(operation, context.served, context.subresource):
        return body
    attributes = context.describe(operation, body, old, _decoder_of(context).gvk)
    await admission.admit(attributes)
    if attributes.object is not None:
        body = attributes.object
    if old is not None:
        # Validating admission sees a Scale that is made from the object, whose managers are not its own.
        attributes.object, attributes.old = without_managed_fields(body), without_managed_fields(old)
    await admission.validate(attributes)
    return body


def _track_manager(context: WriteContext, body: Plain) -> None:
    """Record who set the fields of an object that is not stored: only admission sees that."""
    gvk = _decoder_of(context).gvk
    # The target of a Binding is a reference, which has one manager as a whole.
    content = {
        name: _drop_nulls(value) if name != "target" else ""
        for name, value in body.items()
        if name not in {"apiVersion", "kind", "metadata", "status"} and value not in ({}, None)
    }
    if content:
        manager, now = context.manager or "", context.cluster.now()
        entry = own_entry(content, manager, gvk.api_version, now, subresource=context.subresource)
        metadata(body)["managedFields"] = [entry]


def _drop_nulls(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {name: member for name, member in cast("Plain", value).items() if member is not None}


def _check_is_scale(context: WriteContext) -> None:
    if context.subresource != _SCALE:
        raise _needs_a_node(context.served, context.subresource)


async def set_replicas(context: WriteContext, replicas: int) -> None:
    """Set the replicas of a scale, as the controller of autoscalers does.

    Raises:
        StatusFailure: If there is no such object, or the write is refused.
    """

    async def change(scale: Plain) -> Plain:
        return {**scale, "metadata": {**metadata(scale)}, "spec": {"replicas": replicas}}

    await _rescale(context, change)


async def _rescale(
    context: WriteContext, change: Callable[[Plain], Awaitable[Plain]], *, is_apply: bool = False
) -> ApiResponse:
    """Change the scale, a view of the object itself; an apply has already tracked its managers."""
    from masthead_server.field_managers.scale import ScaleEntries, scale_manager

    served = context.served
    view = _scale_view(served)

    async def rescale(found: Plain) -> Plain:
        before, meta = view.read_for_update(found), metadata(found)
        # The scale shares the object's field managers: an owner of replicas is an owner in both.
        entries = ScaleEntries(served, meta.pop("managedFields", []))
        metadata(before)["managedFields"] = entries.of_scale()
        scale = await change(before)
        if not is_apply:
            scale_manager().update(before, scale, context.manager or "", context.cluster.now())
        scale = await _admit(context, Operation.UPDATE, scale, before)
        # Without owners the field is absent, not empty.
        if of_parent := entries.of_parent(metadata(scale).get("managedFields") or []):
            meta["managedFields"] = of_parent
        view.set_replicas(found, part(scale, "spec").get("replicas", 0))
        # The preconditions of the scale are those of the object.
        for field in ("resourceVersion", "uid"):
            if wanted := text(part(scale, "metadata"), field):
                metadata(found)[field] = wanted
        return found

    written = await write.update(replace(context, subresource="", manager=None, is_admitted=True), rescale)
    return json_response(200, view.read(await context.evaluate(served.codec.load, written.value)))


def _scale_view(served: ServedResource) -> ScaleView:
    return served.behavior.scale or _REPLICAS


async def _bind(context: WriteContext, body: Plain) -> ApiResponse:
    """Give a pod its node."""
    name = context.name
    if text(part(body, "metadata"), "name") != name:
        raise bad_request("name in URL does not match name in Binding object")
    node = text(part(body, "target"), "name")
    kind = text(part(body, "target"), "kind")
    # kube-apiserver returns these errors of validation unwrapped, which makes them a 500 instead of a 422.
    if kind not in {"", "Node"}:
        problem = not_supported("target.kind", kind, ("Node", "<empty>"))
        raise StatusFailure(500, "", str(problem))
    if not node:
        raise StatusFailure(500, "", str(required("target.name")))

    async def bound(found: Plain) -> Plain:
        # In the change, so that two schedulers cannot bind one pod.
        bind_pod(found, node, context.cluster.now(), part(body, "metadata"))
        return found

    await write.update(replace(context, manager=None), bound)
    return json_response(201, {**_SUCCESS, "code": 201})


async def _evict(context: WriteContext, body: Plain) -> ApiResponse:
    """Delete a pod as the eviction and its disruption budget say."""
    await eviction.evict(context, body)
    return json_response(201, {**_SUCCESS, "code": 201})


async def _issue_token(context: WriteContext, body: Plain) -> ApiResponse:
    """Issue a token for a service account."""
    from masthead_server.field_managers.token_requests import token_request_manager

    token_requests.set_defaults(body)
    token_request_manager().update(None, body, context.manager or "", context.cluster.now())
    issued = token_requests.issue_token(context.cluster, context.served, context.namespace, context.name, body)
    return json_response(201, {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", **issued})


_CREATE: Final[Mapping[str, Callable[[WriteContext, Plain], Awaitable[ApiResponse]]]] = {
    "binding": _bind,
    "eviction": _evict,
    "token": _issue_token,
}
"""What a POST to each subresource does."""


def _decoder_of(context: WriteContext) -> KindDecoder:
    described = context.served.resource.subresource(context.subresource)
    if described is None:
        raise _needs_a_node(context.served, context.subresource)
    return KindDecoder(scheme.object_class(described.kind))


def _needs_a_node(served: ServedResource, subresource: str) -> StatusFailure:
    message = (
        f"{served.name}/{subresource} needs a node that runs pods, and this server has none; "
        "point the same code at a cluster for that"
    )
    return StatusFailure(501, "NotImplemented", message)
