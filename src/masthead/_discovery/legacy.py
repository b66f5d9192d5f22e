"""Legacy discovery: a list of groups, and one resource list per group-version.

Servers before 1.26 support only this format, and so do some proxies and aggregated servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from masthead._discovery.model import ServedGroup, ServedResource
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersion
from masthead._meta.resource import Subresource
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.gvk import GroupVersionKind

__all__ = ["read_core", "read_groups", "read_resources"]

T = TypeVar("T", bound="_ApiDocument")


class _ApiDocument(msgspec.Struct, rename="camel"):
    kind: str | None = None


class _ApiVersions(_ApiDocument):
    versions: list[str] | None = None


class _GroupVersionForDiscovery(msgspec.Struct):
    version: str


class _ApiGroup(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_GroupVersionForDiscovery] | None = None
    preferred_version: _GroupVersionForDiscovery | None = None


class _ApiGroupList(_ApiDocument):
    groups: list[_ApiGroup] | None = None


class _ApiResource(msgspec.Struct, rename="camel"):
    name: str
    kind: str | None = None
    singular_name: str | None = None
    namespaced: bool = False
    group: str | None = None
    version: str | None = None
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None


class _ApiResourceList(_ApiDocument):
    resources: list[_ApiResource] | None = None


_decode_core: Final = typeinfo.json_decoder(_ApiVersions)
_decode_groups: Final = typeinfo.json_decoder(_ApiGroupList)
_decode_resources: Final = typeinfo.json_decoder(_ApiResourceList)


def read_core(body: bytes) -> tuple[ServedGroup, ...]:
    """Decode the response of ``/api``: the core group, or nothing if it has no versions.

    Raises:
        DecodeError: If the body is invalid.
    """
    versions = tuple(_read(_decode_core, body, "APIVersions").versions or ())
    return (ServedGroup("", versions, versions[0]),) if versions else ()


def read_groups(body: bytes) -> tuple[ServedGroup, ...]:
    """Decode the response of ``/apis``: the groups.

    Raises:
        DecodeError: If the body is invalid.
    """
    groups = _read(_decode_groups, body, "APIGroupList").groups or ()
    return tuple(_group(group, group.versions) for group in groups if group.versions)


def read_resources(served: GroupVersion, body: bytes) -> tuple[ServedResource, ...]:
    """Decode the resource list of one group-version, each resource with its subresources.

    Raises:
        DecodeError: If the body is invalid.
    """
    given = _read(_decode_resources, body, "APIResourceList").resources or ()
    owners = {resource.name: resource for resource in given if "/" not in resource.name and resource.kind}
    parts: dict[str, list[_ApiResource]] = {name: [] for name in owners}
    for resource in given:
        owner, slash, _ = resource.name.partition("/")
        if slash and resource.kind:
            parts.setdefault(owner, []).append(resource)
    return tuple(_resource(served, name, owners.get(name), belonging) for name, belonging in parts.items())


def _read(decoder: msgspec.json.Decoder[T], body: bytes, kind: str) -> T:
    try:
        found = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(str(error), kind=kind) from None
    if found.kind != kind:
        raise DecodeError(f"the server returned {found.kind or 'an object without a kind'}", kind=kind)
    return found


def _group(given: _ApiGroup, versions: list[_GroupVersionForDiscovery]) -> ServedGroup:
    names = tuple(group_version.version for group_version in versions)
    preferred = given.preferred_version.version if given.preferred_version else ""
    return ServedGroup(given.name, names, preferred if preferred in names else names[0])


def _resource(
    served: GroupVersion, name: str, owner: _ApiResource | None, parts: Iterable[_ApiResource]
) -> ServedResource:
    parts = tuple(parts)
    # If only subresources are served, their scope is that of the resource.
    given = owner or _ApiResource(name, namespaced=any(part.namespaced for part in parts))
    return ServedResource(
        gvr=served.resource(name),
        gvk=_kind(served, given),
        singular=given.singular_name or "",
        namespaced=given.namespaced,
        verbs=tuple(given.verbs or ()),
        short_names=tuple(given.short_names or ()),
        categories=tuple(given.categories or ()),
        subresources=tuple(
            Subresource(part.name.partition("/")[2], _kind(served, part), tuple(part.verbs or ())) for part in parts
        ),
    )


def _kind(served: GroupVersion, given: _ApiResource) -> GroupVersionKind:
    """Return the kind; without its own group and version, it has the resource's."""
    own = served if not (given.group or given.version) else GroupVersion(given.group or "", given.version or "")
    return own.kind(given.kind or "")
