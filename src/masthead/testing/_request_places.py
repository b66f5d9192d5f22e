"""The verb and the object of a request, read from its method, path and body."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from masthead._meta.secret import SecretValue

if TYPE_CHECKING:
    from masthead._transport.contract import TransportRequest

__all__ = ["RequestPlace", "content_of", "locate", "verb_of"]

_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_COLLECTIONS: Final = {"get": "list", "delete": "deletecollection"}
_APPLY: Final = "application/apply-patch"
_NAMESPACE_SUBRESOURCES: Final = frozenset({"finalize", "status"})


class RequestPlace(NamedTuple):
    """The object of a request.

    Attributes:
        plural: The resource; the path, if it names no resource.
        group: The API group.
        subresource: The subresource; empty for none.
        namespace: The namespace; empty for none.
        name: The name; for a create, from its body.
        is_collection: Whether the path names no object.
        is_resource: Whether the path names a resource.
    """

    plural: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    is_collection: bool = False
    is_resource: bool = True

    @property
    def group_resource(self) -> str:
        """The resource with its group: ``deployments.apps``."""
        return ".".join(filter(None, (self.plural, self.group)))

    @property
    def resource(self) -> str:
        """The resource with its group and subresource: ``deployments.apps/status``."""
        return f"{self.group_resource}/{self.subresource}" if self.subresource else self.group_resource

    @property
    def key(self) -> str:
        """The object: ``namespace/name``, or the name alone."""
        return "/".join(filter(None, (self.namespace, self.name)))


def locate(request: TransportRequest) -> RequestPlace:
    """Parse the path of a request; the name of a created object is in the body."""
    path = urlsplit(request.target).path
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["api", _, first, *rest]:
            group = ""
        case ["apis", group, _, first, *rest]:
            pass
        case _:
            return RequestPlace(path, is_resource=False)
    rest, namespace = [first, *rest], ""
    # /namespaces/x/pods names pods in x; /namespaces/x/status, a subresource of x.
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    return RequestPlace(
        plural, group, subresource, namespace, name or _name_in(content_of(request)), is_collection=not name
    )


def verb_of(request: TransportRequest, place: RequestPlace) -> str:
    """Return the verb of a request: as in RBAC, and ``apply``."""
    verb = _VERBS.get(request.method, request.method.lower())
    if verb == "get" and parse_qs(urlsplit(request.target).query).get("watch", [""])[0] in {"1", "true"}:
        return "watch"
    if place.is_collection:
        verb = _OF_COLLECTIONS.get(verb, verb)
    # Only the media type distinguishes an apply from other patches.
    types = [value for name, value in request.headers if name.lower() == "content-type"]
    return "apply" if verb == "patch" and any(str(media_type).startswith(_APPLY) for media_type in types) else verb


def content_of(request: TransportRequest) -> bytes:
    """Return the bytes of a body."""
    body = request.body
    if isinstance(body, SecretValue):
        # Bodies of Secrets are wrapped against logging; the test may see them.
        body = body.reveal()
    return body or b""


def _name_in(content: bytes) -> str:
    try:
        metadata = json.loads(content)["metadata"]
        # The server chooses the suffix, which the request does not know.
        return str(metadata.get("name") or f"{metadata['generateName']}*")
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""
