"""Discovery in one document: groups, versions and resources together (``apidiscovery.k8s.io``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead.discovery.model import ApiGroup, ApiResource, Discovered
from masthead.errors import DecodeError, ServiceUnavailableError
from masthead.meta.gvk import GroupVersion
from masthead.meta.resource import Subresource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.errors import MastheadError
    from masthead.meta.gvk import GroupVersionKind

__all__ = ["ACCEPT", "is_aggregated", "read_aggregated"]

_GROUP: Final = "apidiscovery.k8s.io"
_KIND: Final = "APIGroupDiscoveryList"
_VERSIONS: Final = ("v2", "v2beta1")
"""Those that we read, the best first; they differ in name only."""

ACCEPT: Final = ",".join(
    [*(f"application/json;g={_GROUP};v={version};as={_KIND}" for version in _VERSIONS), "application/json"]
)
"""Ask for one document; take the older form from servers that have no other."""


class _Kind(msgspec.Struct):
    group: str | None = None
    version: str | None = None
    kind: str | None = None


class _Part(msgspec.Struct, rename="camel"):
    subresource: str
    response_kind: _Kind | None = None
    verbs: list[str] | None = None


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    response_kind: _Kind | None = None
    scope: str | None = None
    singular_resource: str | None = None
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Part] | None = None


class _Version(msgspec.Struct):
    version: str
    resources: list[_Resource] | None = None
    freshness: str | None = None


class _Metadata(msgspec.Struct):
    name: str | None = None


class _Group(msgspec.Struct):
    metadata: _Metadata | None = None
    versions: list[_Version] | None = None


class _Document(msgspec.Struct):
    items: list[_Group] | None = None


_decode: Final = msgspec.json.Decoder(_Document).decode


def is_aggregated(content_type: str) -> bool:
    """Whether an answer is such a document: the content type says so, its parameters in any order."""
    media_type, *parameters = (part.strip() for part in content_type.split(";"))
    pairs = (each.partition("=") for each in parameters)
    said = {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
    return (
        media_type.lower() == "application/json"
        and (said.get("g"), said.get("as")) == (_GROUP, _KIND)
        and said.get("v") in _VERSIONS
    )


def read_aggregated(body: bytes) -> Discovered:
    """Read such a document. What the server itself calls stale is among the failures, and is kept.

    Raises:
        DecodeError: if it is none.
    """
    try:
        groups = _decode(body).items or []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(str(error), kind=_KIND) from None
    failures: dict[GroupVersion, MastheadError] = {}
    for group in groups:
        for version in group.versions or ():
            if _is_stale(version):
                served = GroupVersion(_name(group), version.version)
                failures[served] = _stale(served)
    return Discovered(
        tuple(_group(each) for each in groups if each.versions),
        tuple(resource for each in groups for resource in _resources(each)),
        failures,
    )


def _name(group: _Group) -> str:
    return (group.metadata.name if group.metadata else None) or ""


def _is_stale(version: _Version) -> bool:
    return version.freshness == "Stale"


def _stale(served: GroupVersion) -> MastheadError:
    return ServiceUnavailableError(
        f"the API server cannot reach what serves {served}, and repeats what it was last told",
        verb="get",
        resource=served.path,
    )


def _group(group: _Group) -> ApiGroup:
    versions = group.versions or []
    fresh = (each for each in versions if not _is_stale(each))
    names = tuple(each.version for each in versions)
    return ApiGroup(_name(group), names, next(fresh, versions[0]).version)


def _resources(group: _Group) -> Iterator[ApiResource]:
    for version in group.versions or ():
        served = GroupVersion(_name(group), version.version)
        for each in version.resources or ():
            found = _resource(served, each)
            if found.kind or found.subresources:
                yield found


def _resource(served: GroupVersion, given: _Resource) -> ApiResource:
    parts = (_part(served, each) for each in given.subresources or ())
    return ApiResource(
        gvr=served.resource(given.resource),
        gvk=_kind(served, given.response_kind),
        singular=given.singular_resource or "",
        namespaced=given.scope == "Namespaced",
        verbs=tuple(given.verbs or ()),
        short_names=tuple(given.short_names or ()),
        categories=tuple(given.categories or ()),
        subresources=tuple(part for part in parts if part.kind.kind),
    )


def _part(served: GroupVersion, given: _Part) -> Subresource:
    return Subresource(given.subresource, _kind(served, given.response_kind), tuple(given.verbs or ()))


def _kind(served: GroupVersion, given: _Kind | None) -> GroupVersionKind:
    """The kind; one that names no group and no version is of those that serve it."""
    if given is None:
        return served.kind("")
    own = (
        served if not (given.group or given.version) else GroupVersion(given.group or "", given.version or "")
    )
    return own.kind(given.kind or "")
