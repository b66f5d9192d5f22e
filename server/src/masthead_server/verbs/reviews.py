"""Reviews: objects that a POST completes, and that are not stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.attributes import Operation
from masthead_server.authentication.jwt import InvalidTokenError
from masthead_server.authentication.service_accounts import API_AUDIENCES
from masthead_server.authentication.tokens import INVALID_TOKEN
from masthead_server.verbs import bodies, subresources
from masthead_server.verbs.access_reviews import decide_access, find_access_errors, list_rules
from masthead_server.verbs.write_steps import admit, admit_valid, check_names, track_managers
from masthead_server.wire.failures import bad_request, refused_fields
from masthead_server.wire.plain import Plain, metadata, part, text
from masthead_server.wire.request import ApiResponse, json_response
from masthead_server.wire.user_info import ANONYMOUS

if TYPE_CHECKING:
    from masthead_server.cluster import ClusterState
    from masthead_server.verbs.write_context import WriteContext
    from masthead_server.wire.request import ApiRequest

__all__ = ["create"]

_PODS: Final = GroupVersionResource("", "v1", "pods")


async def create(context: WriteContext, request: ApiRequest) -> ApiResponse:
    """Answer a review, which is not stored.

    Raises:
        StatusFailure: If it cannot be read, or lacks what it is about.
    """
    cluster, served = context.cluster, context.served
    found = bodies.decode(request, served.codec, context.options)
    if served.name == "bindings":
        return await _bind(context, request, found)
    check_names(found, context.namespace, "", is_namespaced=served.is_namespaced)
    for field in _SYSTEM_FIELDS:
        metadata(found).pop(field, None)
    await track_managers(context, found, None)
    attributes = context.attributes(Operation.CREATE, found, None)
    found = await admit(context, attributes, found)
    _check(found, served.name, served.gvk.group, context.namespace)
    await admit_valid(context, attributes, found)
    if served.name in _ANSWERED_ANEW:
        found["metadata"] = {}
    if served.name == "selfsubjectreviews":
        found["metadata"] = {"creationTimestamp": cluster.now()}
    namespace = text(part(found, "spec"), "namespace")
    if served.name == "selfsubjectrulesreviews":
        found["spec"] = {}
    if served.name == "tokenreviews":
        metadata(found).pop("namespace", None)
        found["status"] = _authenticate(cluster, found)
    elif served.name == "selfsubjectreviews":
        found["status"] = {"userInfo": request.user.to_plain()}
    elif served.name == "selfsubjectrulesreviews":
        found["status"] = list_rules(cluster.authorizer, request.user, namespace)
    else:
        found["status"] = decide_access(cluster.authorizer, found, served.name, request.user)
    return json_response(201, {"kind": served.kind, "apiVersion": served.api_version, **found})


def _check(found: Plain, resource: str, group: str, namespace: str) -> None:
    """Refuse a review that lacks what it is about.

    Raises:
        StatusFailure: If it does.
    """
    spec = part(found, "spec")
    if resource == "tokenreviews" and not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    if resource == "selfsubjectrulesreviews" and not spec.get("namespace"):
        raise bad_request("no namespace on request")
    if resource.endswith("accessreviews"):
        errors = find_access_errors(found, resource, namespace)
        if errors:
            # kube-apiserver has forgotten the kind by then.
            raise refused_fields(group, "", "", errors)


async def _bind(context: WriteContext, request: ApiRequest, found: Plain) -> ApiResponse:
    """Bind a pod by a Binding of its name: the old form of ``pods/binding``."""
    pods = context.cluster.catalog.require(_PODS)
    name = text(part(found, "metadata"), "name")
    return await subresources.create(replace(context, served=pods, name=name, subresource="binding"), request)


def _authenticate(cluster: ClusterState, found: Plain) -> Plain:
    """Return the status of a TokenReview; a failure leaves the user that a client may have sent."""
    spec, sent = part(found, "spec"), part(found, "status")
    audiences: list[str] = spec.get("audiences") or list(API_AUDIENCES)
    # kube-apiserver puts the token in a header: a space ends it, and one before it makes the review anonymous.
    token = f"Bearer {text(spec, 'token')}".strip().split(" ", 2)[1:2]
    if not token or not token[0]:
        return {"authenticated": True, "user": ANONYMOUS.to_plain(), "audiences": audiences}
    try:
        passed = cluster.tokens.authenticate(token[0].encode("utf-8", "replace"), audiences)
    except InvalidTokenError as error:
        sent.pop("authenticated", None)
        problem = str(error)
        shown = problem if problem == INVALID_TOKEN else f"[{INVALID_TOKEN}, {problem}]"
        return {"user": {}, **sent, "error": shown}
    return {"authenticated": True, "user": passed.user.to_plain(), "audiences": list(passed.audiences)}


_ANSWERED_ANEW: Final = frozenset({"selfsubjectreviews", "selfsubjectrulesreviews"})
"""The reviews whose response is not the object that was sent."""
_SYSTEM_FIELDS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""The metadata that no client sets."""
