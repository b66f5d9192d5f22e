"""Aggregated discovery: groups, versions and resources in one document (``apidiscovery.k8s.io``)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from masthead._discovery.model import DiscoveryResult, ServedGroup, ServedResource
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersion
from masthead._meta.resource import Subresource
from masthead.errors import DecodeError, ServiceUnavailableError

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead.errors import MastheadError

__all__ = ["ACCEPT", "is_aggregated", "read_aggregated"]

T = TypeVar("T")

_log: Final = logging.getLogger("masthead.discovery")

_GROUP: Final = "apidiscovery.k8s.io"
_KIND: Final = "APIGroupDiscoveryList"
_VERSIONS: Final = ("v2", "v2beta1")
"""The supported versions, the newest first; their schemas are the same."""

ACCEPT: Final = ",".join(
    [*(f"application/json;g={_GROUP};v={version};as={_KIND}" for version in _VERSIONS), "application/json"]
)
"""Prefer aggregated discovery; accept the legacy format from servers that do not support it."""


class _ResponseKind(msgspec.Struct):
    group: str | None = None
    version: str | None = None
    kind: str | None = None


class _SubresourceDiscovery(msgspec.Struct, rename="camel"):
    subresource: str
    response_kind: _ResponseKind | None = None
    verbs: list[str] | None = None


class _ResourceDiscovery(msgspec.Struct, rename="camel"):
    resource: str
    response_kind: _ResponseKind | None = None
    scope: str | None = None
    singular_resource: str | None = None
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_SubresourceDiscovery] | None = None


# Lists are decoded entry by entry, so that one invalid entry does not hide the others.


class _VersionDiscovery(msgspec.Struct):
    version: str
    resources: list[msgspec.Raw] | None = None
    freshness: str | None = None


class _VersionName(msgspec.Struct):
    version: str


class _Metadata(msgspec.Struct):
    name: str | None = None


class _GroupDiscovery(msgspec.Struct):
    metadata: _Metadata | None = None
    versions: list[msgspec.Raw] | None = None


class _GroupDiscoveryList(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


def is_aggregated(content_type: str) -> bool:
    """Whether a content type is that of aggregated discovery, with its parameters in any order."""
    media_type, *parameters = (part.strip() for part in content_type.split(";"))
    # The server may add parameters, such as a charset, in any order and case.
    pairs = (parameter.partition("=") for parameter in parameters)
    values = {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
    return (
        media_type.lower() == "application/json"
        and (values.get("g"), values.get("as")) == (_GROUP, _KIND)
        and values.get("v") in _VERSIONS
    )


def read_aggregated(body: bytes) -> DiscoveryResult:
    """Decode an aggregated discovery document.

    Group-versions that the server marks as stale are included, and reported as failures. A group-version with invalid
    entries is reported as a failure too, with its valid entries included. Entries without a group or version are
    skipped.

    Raises:
        DecodeError: If the document is invalid, or none of its entries can be decoded.
    """
    read = _ResultBuilder()
    for item in _decode(body, _GroupDiscoveryList).items or ():
        try:
            read.add(_decode(item, _GroupDiscovery))
        except DecodeError as error:
            read.lost.append(error)
    if not read.lost:
        return read.found()
    # Nothing is usable: an empty result would look like a server without resources.
    if not read.groups:
        raise read.lost[0]
    _log.warning("discovery skips an entry without a valid group or version: %s", read.lost[0])
    return read.found()


class _ResultBuilder:
    """Collects the entries of a document.

    Attributes:
        groups: The groups and their versions.
        resources: Their resources.
        failures: The error of each group-version that is stale or partly invalid.
        lost: The errors of entries whose group or version is unknown.
    """

    def __init__(self) -> None:
        self.groups: list[ServedGroup] = []
        self.resources: list[ServedResource] = []
        self.failures: dict[GroupVersion, MastheadError] = {}
        self.lost: list[DecodeError] = []

    def add(self, group: _GroupDiscovery) -> None:
        name = (group.metadata.name if group.metadata else None) or ""
        served: list[GroupVersion] = []
        for version in group.versions or ():
            try:
                served.append(self._add_version(name, version))
            except DecodeError as error:
                self.lost.append(error)
        if served:
            stale = {
                group_version
                for group_version, why in self.failures.items()
                if isinstance(why, ServiceUnavailableError)
            }
            fresh = (group_version for group_version in served if group_version not in stale)
            # A stale version may be incomplete, so that a fresh one is preferred to it.
            preferred = next(fresh, served[0]).version
            self.groups.append(ServedGroup(name, tuple(group_version.version for group_version in served), preferred))

    def found(self) -> DiscoveryResult:
        return DiscoveryResult(tuple(self.groups), tuple(self.resources), self.failures)

    def _add_version(self, group: str, given: msgspec.Raw) -> GroupVersion:
        # The version alone first: with it, invalid entries can be reported as a failure of that version.
        served = GroupVersion(group, _decode(given, _VersionName).version)
        try:
            version = _decode(given, _VersionDiscovery)
        except DecodeError as error:
            self.failures[served] = _named(error, served)
            return served
        if version.freshness == "Stale":
            self.failures[served] = _stale(served)
        for resource in version.resources or ():
            try:
                found = _resource(served, _decode(resource, _ResourceDiscovery))
            except DecodeError as error:
                self.failures.setdefault(served, _named(error, served))
                continue
            # An entry may exist only to carry subresources, such as a scale of another group.
            if found.kind or found.subresources:
                self.resources.append(found)
        return served


def _decode(body: bytes | msgspec.Raw, type_: type[T]) -> T:
    try:
        return typeinfo.decode_json(body, type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(str(error), kind=_KIND) from None


def _named(error: DecodeError, served: GroupVersion) -> DecodeError:
    return DecodeError(error.problem, kind=_KIND, subject=str(served))


def _stale(served: GroupVersion) -> MastheadError:
    return ServiceUnavailableError(
        f"the API server cannot reach the backend of {served}, and returns cached discovery data",
        verb="get",
        resource=served.path,
    )


def _resource(served: GroupVersion, given: _ResourceDiscovery) -> ServedResource:
    parts = (_part(served, subresource) for subresource in given.subresources or ())
    return ServedResource(
        gvr=served.resource(given.resource),
        gvk=_kind(served, given.response_kind),
        singular=given.singular_resource or "",
        namespaced=given.scope == "Namespaced",
        verbs=tuple(given.verbs or ()),
        short_names=tuple(given.short_names or ()),
        categories=tuple(given.categories or ()),
        # Without a kind, the response of a subresource cannot be decoded.
        subresources=tuple(part for part in parts if part.kind.kind),
    )


def _part(served: GroupVersion, given: _SubresourceDiscovery) -> Subresource:
    return Subresource(given.subresource, _kind(served, given.response_kind), tuple(given.verbs or ()))


def _kind(served: GroupVersion, given: _ResponseKind | None) -> GroupVersionKind:
    """Return the kind; without its own group and version, it has the resource's."""
    if given is None:
        return served.kind("")
    own = served if not (given.group or given.version) else GroupVersion(given.group or "", given.version or "")
    return own.kind(given.kind or "")
