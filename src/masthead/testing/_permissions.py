"""Whether the service account of a manager may do what the manager does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote, urlsplit

from masthead._controller.rbac_rules import Grant, is_granted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._transport.contract import TransportRequest

__all__ = ["PermissionCheck"]

_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_COLLECTIONS: Final = {"GET": "list", "DELETE": "deletecollection"}
_NAMESPACE_SUBRESOURCES: Final = frozenset({"finalize", "status"})
_CREATED: Final = 201
_MOST: Final = 1_000
"""How many missing permissions are kept."""


class PermissionCheck:
    """Compares the requests of a manager with the rules that ``masthead manifests`` writes for it.

    Args:
        grants: What the rules allow.

    Attributes:
        missing: What they do not allow, in the order of the requests; each once, such as ``get secrets default/tls``.
    """

    def __init__(self, grants: Iterable[Grant]) -> None:
        self._grants = frozenset(grants)
        self._seen: set[Grant] = set()
        self.missing: dict[str, None] = {}

    def observe(self, request: TransportRequest, code: int) -> None:
        """Check a request that was answered with a code; 0 for no answer."""
        wanted = grant_of(request)
        if wanted is None:
            return
        self._check(wanted)
        if wanted.verb == "patch" and code == _CREATED:
            # An apply that creates an object needs both.
            self._check(wanted._replace(verb="create"))

    def _check(self, wanted: Grant) -> None:
        # Most requests differ only in their names.
        if wanted._replace(name="") in self._grants or wanted._replace(namespace="", name="") in self._grants:
            return
        if not is_granted(self._grants, wanted) and len(self.missing) < _MOST:
            group = f".{wanted.group}" if wanted.group else ""
            resource, slash, subresource = wanted.resource.partition("/")
            key = "/".join(filter(None, (wanted.namespace, wanted.name)))
            text = f"{wanted.verb} {resource}{group}{slash}{subresource} {key}".rstrip()
            self.missing[text] = None


def grant_of(request: TransportRequest) -> Grant | None:
    """The permission that a request needs; None for what is not about a resource, such as discovery."""
    address = urlsplit(request.target)
    query = parse_qs(address.query)
    parts = [unquote(each) for each in address.path.strip("/").split("/")]
    match parts:
        case ["api", _, first, *rest]:
            group = ""
        case ["apis", group, _, first, *rest]:
            pass
        case _:
            return None
    rest, namespace = [first, *rest], ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = (*rest, "", "", "")[:3]
    verb = _VERBS.get(request.method, request.method.lower())
    if not name:
        verb = _OF_COLLECTIONS.get(request.method, verb)
        # As the server does: who selects one name reads one object.
        name = _selected_name(query)
    if query.get("watch", [""])[0] in {"1", "true"}:
        verb = "watch"
    return Grant(namespace, group, f"{resource}/{subresource}" if subresource else resource, verb, name)


def _selected_name(query: dict[str, list[str]]) -> str:
    (selector,) = query.get("fieldSelector", [""])
    terms = (each.partition("=") for each in selector.split(",") if "!=" not in each)
    return next((value.removeprefix("=") for field, _, value in terms if field == "metadata.name"), "")
