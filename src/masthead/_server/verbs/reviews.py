"""Questions that are posted and answered, and not kept: who am I, may I, is this token good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersionResource
from masthead._server.resources import user
from masthead._server.verbs import bodies
from masthead._server.wire.plain import Plain, metadata, part, text
from masthead._server.wire.request import ApiResponse, json_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.cluster import ClusterState
    from masthead._server.resources.resource import ServedResource
    from masthead._server.wire.options import WriteOptions
    from masthead._server.wire.request import ApiRequest
    from masthead._server.wire.request_info import RequestInfo

__all__ = ["create"]

_USER: Final[Plain] = {"username": user.NAME, "groups": list(user.GROUPS)}


def create(
    cluster: ClusterState,
    served: ServedResource,
    info: RequestInfo,
    request: ApiRequest,
    options: WriteOptions,
) -> ApiResponse:
    """Answer a question.

    Raises:
        StatusFailure: The question cannot be read.
    """
    found = bodies.read_part(request, served.cls, options)
    if served.name == "bindings":
        return _bind(cluster, info, request, found, options)
    if not part(found, "metadata"):
        found["metadata"] = {}
    if served.name == "selfsubjectreviews":
        metadata(found)["creationTimestamp"] = cluster.now()
    if served.name == "selfsubjectrulesreviews":
        found["spec"] = {}
    if served.name == "tokenreviews":
        found["status"] = _is_authenticated(found, cluster.token)
    else:
        found["status"] = _ANSWERS[served.name](found)
    return json_response(201, {"kind": served.kind, "apiVersion": served.api_version, **found})


def _bind(
    cluster: ClusterState, info: RequestInfo, request: ApiRequest, found: Plain, options: WriteOptions
) -> ApiResponse:
    """The old way to bind a pod: a Binding that is named like it."""
    from dataclasses import replace

    from masthead._server.verbs import subresources

    pods = cluster.catalog.require(GroupVersionResource("", "v1", "pods"))
    pod = replace(info, resource="pods", name=text(part(found, "metadata"), "name"), subresource="binding")
    return subresources.create(cluster, pods, pod, request, options)


def _is_allowed(_: Plain) -> Plain:
    return {"allowed": True}


def _rules(_: Plain) -> Plain:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    return {
        "resourceRules": [everything],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def _who_am_i(_: Plain) -> Plain:
    return {"userInfo": _USER}


def _is_authenticated(found: Plain, token: str | None) -> Plain:
    shown = text(part(found, "spec"), "token")
    if token is not None and shown != token:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _USER}


_ANSWERS: Final[dict[str, Callable[[Plain], Plain]]] = {
    "selfsubjectaccessreviews": _is_allowed,
    "subjectaccessreviews": _is_allowed,
    "localsubjectaccessreviews": _is_allowed,
    "selfsubjectrulesreviews": _rules,
    "selfsubjectreviews": _who_am_i,
}
