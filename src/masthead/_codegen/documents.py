"""The documents that a server describes itself with: OpenAPI v3 and aggregated discovery."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from masthead._codegen.spec import Schema, Spec
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersion, GroupVersionKind
from masthead._meta.resource import Resource, Subresource
from masthead.errors import GenerateError

T = TypeVar("T")

_DISCOVERY: Final = "APIGroupDiscoveryList"


class _Label(msgspec.Struct):
    """What tells the documents apart."""

    openapi: Any = None
    kind: Any = None


class _Components(msgspec.Struct):
    schemas: dict[str, Schema] = {}


class _OpenApi(msgspec.Struct):
    components: _Components = msgspec.field(default_factory=_Components)


class _ResponseKind(msgspec.Struct):
    kind: str
    group: str = ""
    version: str = ""

    def of(self, served: GroupVersion) -> GroupVersionKind:
        """The kind in full; discovery leaves out a group and version that equal the resource's own."""
        if not self.version:
            return served.kind(self.kind)
        return GroupVersionKind(self.group, self.version, self.kind)


class _Subresource(msgspec.Struct, rename="camel"):
    subresource: str
    verbs: list[str]
    response_kind: _ResponseKind | None = None


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    singular_resource: str = ""
    scope: str = ""
    verbs: list[str] = []
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    response_kind: _ResponseKind | None = None
    subresources: list[_Subresource] = []

    def of(self, served: GroupVersion) -> Resource:
        """The facts that a kind carries."""
        return Resource(
            name=self.resource,
            singular=self.singular_resource,
            namespaced=self.scope == "Namespaced",
            verbs=tuple(sorted(self.verbs)),
            short_names=self.short_names,
            categories=self.categories,
            subresources=tuple(
                Subresource(each.subresource, each.response_kind.of(served), tuple(sorted(each.verbs)))
                for each in self.subresources
                if each.response_kind
            ),
        )


class _Version(msgspec.Struct):
    version: str
    resources: list[_Resource] = []


class _GroupMeta(msgspec.Struct):
    name: str = ""  # the core group has none


class _Group(msgspec.Struct):
    metadata: _GroupMeta = msgspec.field(default_factory=_GroupMeta)
    versions: list[_Version] = []


class _DiscoveryList(msgspec.Struct):
    items: list[_Group] = []


class _Location(msgspec.Struct, rename={"path": "serverRelativeURL"}):
    path: str


class _Index(msgspec.Struct):
    paths: dict[str, _Location]


def add_document(spec: Spec, data: bytes, origin: str) -> None:
    """Add an OpenAPI v3 or discovery document; JSON that is neither is passed over.

    Args:
        spec: What to add to.
        data: The document.
        origin: Where it came from, for the message of an error.

    Raises:
        GenerateError: if it is not JSON, or not what it says it is.
    """
    label = _label(data, origin)
    if label.openapi is not None:
        _add_schemas(spec, data, origin)
    elif label.kind == _DISCOVERY:
        _add_resources(spec, data, origin)


def add_openapi(spec: Spec, data: bytes, origin: str) -> None:
    """Add a document that must be OpenAPI v3.

    Raises:
        GenerateError: if it is not.
    """
    if _label(data, origin).openapi is None:
        raise GenerateError(f"{origin}: this is no OpenAPI v3 document")
    _add_schemas(spec, data, origin)


def add_discovery(spec: Spec, data: bytes, origin: str) -> None:
    """Add a document that must be aggregated discovery.

    Raises:
        GenerateError: if it is not.
    """
    if _label(data, origin).kind != _DISCOVERY:
        raise GenerateError(
            f"{origin}: this is no aggregated discovery, which Kubernetes serves from 1.27 on; "
            "give --openapi a folder with the server's documents instead"
        )
    _add_resources(spec, data, origin)


def locations(data: bytes, origin: str) -> dict[GroupVersion, str]:
    """Where the document of each group and version is, as the index at ``/openapi/v3`` says.

    Raises:
        GenerateError: if this is not such an index.
    """
    found = _decode(data, _Index, origin).paths
    return {served: found[path].path for path in sorted(found) if (served := _group_version_at(path))}


def _group_version_at(path: str) -> GroupVersion | None:
    """The group and version of a path of the index: ``api/v1`` or ``apis/apps/v1``."""
    match path.split("/"):
        case ["api", version]:
            return GroupVersion("", version)
        case ["apis", group, version]:
            return GroupVersion(group, version)
        case _:
            return None


def _label(data: bytes, origin: str) -> _Label:
    try:
        return typeinfo.decode_json(data, _Label)
    except msgspec.ValidationError:  # JSON, but no object
        return _Label()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GenerateError(f"{origin}: {error}") from None


def _add_schemas(spec: Spec, data: bytes, origin: str) -> None:
    # Shared types stand in many documents; the first one will do, because they agree in what we read.
    for name, schema in _decode(data, _OpenApi, origin).components.schemas.items():
        spec.schemas.setdefault(name, schema)


def _add_resources(spec: Spec, data: bytes, origin: str) -> None:
    for group in _decode(data, _DiscoveryList, origin).items:
        for version in group.versions:
            served = GroupVersion(group.metadata.name, version.version)
            for each in version.resources:
                if each.response_kind:
                    spec.resources[each.response_kind.of(served)] = each.of(served)


def _decode(data: bytes, target: type[T], origin: str) -> T:
    try:
        return typeinfo.decode_json(data, target)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GenerateError(f"{origin}: {error}") from None
