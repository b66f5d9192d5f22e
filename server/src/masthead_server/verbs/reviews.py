"""Reviews: objects that a POST completes, and that are not stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.attributes import Operation
from masthead_server.authentication.jwt import InvalidTokenError
from masthead_server.authentication.service_accounts import API_AUDIENCES
from masthead_server.verbs import bodies, subresources
from masthead_server.verbs.access_reviews import decide_access, find_access_errors, list_rules
from masthead_server.verbs.write_steps import admit, admit_valid, check_names, track_managers
from masthead_server.wire.failures import bad_request, refused_fields
from masthead_server.wire.plain import Plain, metadata, part, text
from masthead_server.wire.request import ApiResponse, json_response

if TYPE_CHECKING:
    from masthead_server.cluster import ClusterState
    from masthead_server.verbs.write import WriteContext
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
    await track_managers(context, found, None)
    attributes = context.attributes(Operation.CREATE, found, None)
    found = await admit(context, attributes, found)
    _check(found, served.name, served.gvk.group, context.namespace)
    await admit_valid(context, attributes, found)
    if served.name in _ANSWERED_ANEW:
        metadata(found).pop("managedFields", None)
    if served.name == "selfsubjectreviews":
        metadata(found)["creationTimestamp"] = cluster.now()
    namespace = text(part(found, "spec"), "namespace")
    if served.name == "selfsubjectrulesreviews":
        found["spec"] = {}
    if served.name == "tokenreviews":
        found["status"] = _authenticate(cluster, part(found, "spec"))
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


def _authenticate(cluster: ClusterState, spec: Plain) -> Plain:
    """Return the status of a TokenReview."""
    # kube-apiserver puts the token in a header, where a space ends it and Latin-1 is as good as any encoding.
    token = text(spec, "token").strip().partition(" ")[0]
    try:
        found = cluster.tokens.authenticate(token.encode("utf-8", "replace"), spec.get("audiences") or API_AUDIENCES)
    except InvalidTokenError as error:
        return {"user": {}, "error": str(error)}
    return {"authenticated": True, "user": found.user.to_plain(), "audiences": list(found.audiences)}


_ANSWERED_ANEW: Final = frozenset({"selfsubjectreviews", "selfsubjectrulesreviews"})
"""The reviews whose response is not the object that was sent."""
