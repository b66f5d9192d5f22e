"""What a request is about: the verb and the resource that its method, path and query name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._module import set_module
from masthead_server.wire.request import unescape

if TYPE_CHECKING:
    from masthead_server.wire.request import ApiRequest

__all__ = ["RequestInfo", "VersionedPath", "read_request_info", "split_path"]

_OBJECT_VERBS: Final = {
    "GET": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})
"""After ``/namespaces/NAME/``, these are subresources of the namespace; anything else is a resource within
it."""
CLIENT_HEADER: Final = "x-masthead-client"
"""Names the client."""
RECONCILE_HEADER: Final = "x-masthead-reconcile"
"""Names the reconcile of a client."""
_MAX_SEGMENTS: Final = 16
"""More than the path of any resource has; the rest stays in one piece."""


class VersionedPath(NamedTuple):
    """A path under ``/api/VERSION`` or ``/apis/GROUP/VERSION``."""

    group: str
    version: str
    segments: list[str]
    """What follows the version."""


def split_path(path: str) -> VersionedPath | None:
    """Split a path after its group and version; return None for a path without a version."""
    # An escaped slash is a slash: kube-apiserver splits the path after decoding it.
    segments = unescape(path).removeprefix("/").rstrip("/").split("/", _MAX_SEGMENTS)
    if len(segments) >= 2 and segments[0] == "api":
        return VersionedPath("", segments[1], segments[2:])
    if len(segments) >= 3 and segments[0] == "apis":
        return VersionedPath(segments[1], segments[2], segments[3:])
    return None


@set_module("masthead.server")
@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The meaning of a request, as in kube-apiserver's RequestInfo.

    Attributes:
        verb: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``,
            ``deletecollection``; for a path that names no resource, the method in lower case.
        group: The resource's group; empty for the core group.
        resource: Its plural; empty for a path that names no resource.
        namespace: The path's; empty for all namespaces, or for a cluster-scoped resource.
        name: The path's; empty for the collection.
        subresource: ``status`` and so on.
        version: The resource's version.
        tail: The path after the subresource, which only proxies have.
        client: The header ``X-Masthead-Client``, by which faults select a client and changes name it.
        reconcile: The header ``X-Masthead-Reconcile``, which names a reconcile: controller, key and id.
    """

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    version: str = ""
    tail: tuple[str, ...] = ()
    client: str = ""
    reconcile: str = ""

    @property
    def is_resource_request(self) -> bool:
        """Whether the path names a resource."""
        return bool(self.resource)

    def __str__(self) -> str:
        place = "/".join(part for part in (self.namespace, self.name) if part)
        what = "/".join(part for part in (self.resource, self.subresource) if part)
        return " ".join(part for part in (self.verb, what, place) if part)


def read_request_info(request: ApiRequest) -> RequestInfo:
    """Read method, path and query of a request."""
    path = split_path(request.path)
    if path is None or not path.segments:
        return _read_without_resource(request)
    segments = path.segments
    # The old form of watches, /api/v1/watch/pods, which kube-apiserver still serves.
    is_watch_path = segments[0] == "watch"
    if is_watch_path:
        segments = segments[1:]
    namespace = ""
    if len(segments) > 2 and segments[0] == "namespaces" and segments[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, segments = segments[1], segments[2:]
    resource, name, subresource, *_ = *segments, "", "", ""
    if not resource:
        return _read_without_resource(request)
    return RequestInfo(
        verb=_verb(request, is_watch_path=is_watch_path, has_name=bool(name)),
        group=path.group,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        version=path.version,
        tail=tuple(segments[3:]),
        client=request.headers.get(CLIENT_HEADER, ""),
        reconcile=request.headers.get(RECONCILE_HEADER, ""),
    )


def _read_without_resource(request: ApiRequest) -> RequestInfo:
    return RequestInfo(request.method.lower(), client=request.headers.get(CLIENT_HEADER, ""))


def _verb(request: ApiRequest, *, is_watch_path: bool, has_name: bool) -> str:
    if is_watch_path:
        return "watch" if request.method == "GET" else request.method.lower()
    verbs = _OBJECT_VERBS if has_name else _COLLECTION_VERBS
    verb = verbs.get(request.method, request.method.lower())
    # As Go converts it to a bool: every other value is true, also an empty one.
    if verb == "list" and request.query.get("watch", ["false"])[0].lower() not in {"false", "0"}:
        return "watch"
    return verb
