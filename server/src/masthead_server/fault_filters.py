"""Which requests a fault hits, and which filters could never hit one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict, cast

from masthead._meta.gvk import GroupVersionResource
from masthead._module import set_module
from masthead_server.argument_checks import check_text, check_texts, check_type, nearest_hint
from masthead_server.fault_responses import object_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead_server.resources.catalog import Catalog
    from masthead_server.wire.request_info import RequestInfo

__all__ = [
    "VIEW_VERBS",
    "RequestFilter",
    "ViewFilter",
    "check_served",
    "check_view",
    "check_where",
    "for_verb",
    "for_views",
    "is_met",
    "take_skip",
]

_READS: Final = ("get", "list", "watch")
_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")
_GROUPS_OF_VERBS: Final = {"read": _READS, "write": _WRITES}
_VERBS: Final = frozenset({*_READS, *_WRITES, *_GROUPS_OF_VERBS})
_METHODS: Final = frozenset({"get", "head", "post", "put", "patch", "delete", "options"})
"""The verbs of requests that name no resource."""
_OF_MANY: Final = frozenset({"list", "deletecollection"})
"""The verbs of requests that name no object."""
_COUNTS: Final = frozenset({"skip", "nth"})
VIEW_VERBS: Final = ("list", "watch")
"""The verbs of requests that show a view of a resource."""


@set_module("masthead.server")
class ViewFilter(TypedDict, total=False):
    """The resources and clients whose view a fault holds back.

    Attributes:
        client: Only the client of this name: its requests have the header ``X-Masthead-Client``, as those of the
            replicas of a test environment.
        group: Only resources of this group; empty for the core group.
        resource: Only this resource, by its plural.
    """

    client: str
    group: str
    resource: str


@set_module("masthead.server")
class RequestFilter(TypedDict, total=False):
    """The requests that a fault hits.

    Attributes:
        client: Only the client of this name: its requests have the header ``X-Masthead-Client``, as those of the
            replicas of a test environment.
        verb: Only this verb, or these; ``read`` and ``write`` stand for all of their kind.
        group: Only resources of this group; empty for the core group, and for paths that name no resource.
        resource: Only this resource, by its plural; its subresources included. Empty for paths that
            name no resource.
        subresource: Only this subresource; empty for the resource itself.
        namespace: Only paths in this namespace.
        name: Only the object of this name in the path; for a create, in the body, in JSON or protobuf. Empty
            for paths without a name.
        skip: Not the first so many of these requests.
        nth: From the nth of these requests on, counted from 1; with ``times=1``, that one only.
    """

    client: str
    verb: str | Collection[str]
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    skip: int
    nth: int


def is_met(where: RequestFilter, info: RequestInfo, body: bytes = b"") -> bool:
    """Tell whether a request matches the filters; for a create, the body may have the name."""
    for name, wanted in where.items():
        found: str = getattr(info, name)
        if name == "verb":
            is_same = found in _expand_verbs(wanted)
        elif name == "name" and wanted and not found and info.verb == "create":
            # The path of a create has no name; only its body may have one.
            is_same = object_name(body) == wanted
        else:
            is_same = found == wanted
        if not is_same:
            return False
    return True


def _expand_verbs(verb: object) -> Collection[str]:
    """The verbs of a filter."""
    if isinstance(verb, str):
        return _GROUPS_OF_VERBS.get(verb, (verb,))
    return [expand_verb for one in cast("Collection[str]", verb) for expand_verb in _expand_verbs(one)]


def for_verb(verb: str, where: RequestFilter) -> RequestFilter:
    """Add the one verb that a fault is for."""
    if "verb" in where:
        raise ValueError(f"this fault is for the verb {verb} alone")
    return {**where, "verb": verb}


def for_views(where: RequestFilter) -> RequestFilter:
    """Add the verbs that show a view: lists and watches."""
    if "verb" in where:
        raise ValueError("this fault is for lists and watches alone")
    return {**where, "verb": VIEW_VERBS}


def take_skip(where: RequestFilter) -> tuple[RequestFilter, int]:
    """Return the filters of single requests, and how many matching requests come before the first hit.

    Raises:
        ValueError: If the number is negative, or both `skip` and `nth` are given.
    """
    rest = cast("RequestFilter", {name: value for name, value in where.items() if name not in _COUNTS})
    skip, nth = where.get("skip"), where.get("nth")
    if skip is not None and nth is not None:
        raise ValueError("skip and nth say the same: give one of them")
    for name, value in (("nth", nth), ("skip", skip)):
        if value is not None:
            check_type(name, value, int, "a whole number")
    if nth is not None:
        if nth < 1:
            raise ValueError(f"requests are counted from 1: there is no request number {nth}")
        return rest, nth - 1
    if skip is not None and skip < 0:
        raise ValueError(f"a fault skips 0 or more requests, not {skip}")
    return rest, skip or 0


def check_view(where: ViewFilter) -> RequestFilter:
    """Return the filters of a fault that holds views back.

    Raises:
        TypeError: If there is no such filter.
    """
    _check_names(where, ViewFilter)
    return cast("RequestFilter", where)


def _check_names(where: RequestFilter | ViewFilter, kind: type[RequestFilter | ViewFilter]) -> None:
    if unknown := sorted(where.keys() - kind.__annotations__.keys()):
        raise TypeError(f"there is no filter {unknown[0]!r}; there are {', '.join(kind.__annotations__)}")
    for name, value in where.items():
        if name == "verb" and not isinstance(value, str):
            check_texts(name, value)
        elif name not in _COUNTS:
            check_text(name, value)


def check_where(where: RequestFilter, times: int | None) -> None:
    """Refuse a fault that could never hit a request, so that a mistake in a test fails immediately."""
    _check_names(where, RequestFilter)
    if times is not None:
        check_type("times", times, int, "a whole number, or None for every request")
        if times < 1:
            raise ValueError(f"a fault hits at least one request, not {times}")
    verbs = _expand_verbs(where.get("verb", ()))
    for verb in verbs:
        if verb not in _VERBS | _METHODS:
            raise ValueError(f"there is no verb {verb!r}; there are {', '.join(sorted(_VERBS))}")
    if (name := where.get("name")) and verbs and _OF_MANY.issuperset(verbs):
        raise ValueError(f"a {' or '.join(verbs)} names no object, so that name={name!r} matches none")


def check_served(catalog: Catalog, where: RequestFilter) -> None:
    """Refuse a fault for a group or resource that is not served.

    Raises:
        ValueError: If it is not.
    """
    groups = catalog.groups()
    if (group := where.get("group", "")) not in groups:
        raise ValueError(f"there is no group {group!r}{nearest_hint(group, groups)}")
    if not (resource := where.get("resource", "")):
        return
    searched = (group,) if "group" in where else groups
    if any(
        catalog.find(GroupVersionResource(each, version, resource))
        for each in searched
        for version in catalog.versions(each)
    ):
        return
    known = {
        served.name
        for each in searched
        for version in catalog.versions(each)
        for served in catalog.resources(each, version)
    }
    place = f" in the group {group!r}" if "group" in where else ""
    plural, _, part = resource.partition("/")
    # RBAC writes subresources like this, so that it is a likely mistake.
    is_subresource = part and plural in known
    hint = f"; use resource={plural!r}, subresource={part!r}" if is_subresource else nearest_hint(resource, known)
    raise ValueError(f"there is no resource {resource!r}{place}{hint}")
