"""Checks a manager's requests against the permissions of its service account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from masthead._controller.rbac_rules import Grant, is_granted
from masthead.testing._request_places import locate, verb_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._transport.contract import TransportRequest

__all__ = ["PermissionCheck"]

_CREATED: Final = 201
_MAX_MISSING: Final = 1_000
"""The maximum number of recorded permissions."""


class PermissionCheck:
    """Compares the requests of a manager with the rules that ``masthead manifests`` writes for it.

    Args:
        grants: The granted permissions.

    Attributes:
        missing: Requests without a permission, such as ``get secrets default/tls``; in order, without duplicates.
    """

    def __init__(self, grants: Iterable[Grant]) -> None:
        self._grants = frozenset(grants)
        self._seen: set[Grant] = set()
        self.missing: dict[str, None] = {}

    def observe(self, request: TransportRequest, code: int) -> None:
        """Check a request by its response code; 0 without a response."""
        needed = grant_of(request)
        if needed is None:
            return
        self._check(needed)
        if needed.verb == "patch" and code == _CREATED:
            # An apply that creates an object needs both verbs.
            self._check(needed._replace(verb="create"))

    def _check(self, needed: Grant) -> None:
        # Fast path: most requests differ only in their names.
        if needed._replace(name="") in self._grants or needed._replace(namespace="", name="") in self._grants:
            return
        if not is_granted(self._grants, needed) and len(self.missing) < _MAX_MISSING:
            group = f".{needed.group}" if needed.group else ""
            resource, slash, subresource = needed.resource.partition("/")
            key = "/".join(filter(None, (needed.namespace, needed.name)))
            text = f"{needed.verb} {resource}{group}{slash}{subresource} {key}".rstrip()
            self.missing[text] = None


def grant_of(request: TransportRequest) -> Grant | None:
    """Return the permission for a request; None for requests without a resource, such as discovery."""
    place = locate(request)
    if not place.is_resource:
        return None
    verb = verb_of(request, place)
    # Without the name in a body: as the server authorizes, which may read one object by a selector.
    name = _selected_name(parse_qs(urlsplit(request.target).query)) if place.is_collection else place.name
    resource = f"{place.plural}/{place.subresource}" if place.subresource else place.plural
    return Grant(place.namespace, place.group, resource, "patch" if verb == "apply" else verb, name)


def _selected_name(query: dict[str, list[str]]) -> str:
    (selector,) = query.get("fieldSelector", [""])
    terms = (term.partition("=") for term in selector.split(",") if "!=" not in term)
    return next((value.removeprefix("=") for field, _, value in terms if field == "metadata.name"), "")
