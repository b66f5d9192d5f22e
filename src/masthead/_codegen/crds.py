"""Reads CustomResourceDefinitions from manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

import msgspec

from masthead._meta import names, typeinfo
from masthead._meta.gvk import GroupVersion, GroupVersionKind
from masthead._meta.merge import ListType, MapType
from masthead._meta.resource import Resource, Subresource
from masthead._schema.schema import Schema
from masthead.errors import GenerateError, NameFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._codegen.spec import Spec

# The verbs of every custom resource, and of the subresources that its definition enables.
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")

_DEFINITION: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_META: Final = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1."


class _Names(msgspec.Struct, rename="camel"):
    kind: str
    plural: str
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _Validation(msgspec.Struct, rename={"root": "openAPIV3Schema"}):
    root: Schema = Schema(type="object")


class _Version(msgspec.Struct):
    name: str
    served: bool = True
    schema: _Validation = msgspec.field(default_factory=_Validation)
    subresources: dict[str, Any] = {}


class _Body(msgspec.Struct):
    group: str
    names: _Names
    scope: Literal["Namespaced", "Cluster"]
    versions: list[_Version]


class _Definition(msgspec.Struct):
    spec: _Body


def definitions_in(document: object) -> Iterator[Mapping[str, Any]]:
    """Yield the definitions in a document of a manifest, which may be a list; skip other objects."""
    if not isinstance(document, Mapping):
        return
    content = cast("Mapping[str, Any]", document)
    if content.get("kind") in {"List", "CustomResourceDefinitionList"}:
        items: object = content.get("items")
        for item in cast("list[object]", items) if isinstance(items, list) else []:
            yield from definitions_in(item)
    elif (content.get("apiVersion"), content.get("kind")) == _DEFINITION:
        yield content


def add_definition(spec: Spec, definition: Mapping[str, Any], origin: str) -> None:
    """Add every served version of a definition.

    Args:
        spec: What to add to.
        definition: The CustomResourceDefinition.
        origin: Where it came from, for the message of an error.

    Raises:
        GenerateError: If it is not what a definition should be.
    """
    try:
        # Manifests may contain nulls, which the server drops.
        body = typeinfo.converter(_Definition)(_without_nulls(definition)).spec
        _check_names(body)
        for version in body.versions:
            _check_list_types(version.schema.root)
    except (msgspec.ValidationError, NameFormatError, ValueError) as error:
        raise GenerateError(f"{origin}: CustomResourceDefinition {_name_of(definition)}: {error}") from None
    for version in body.versions:
        # A version that is not served has no resource, although objects may be stored in it.
        if version.served:
            _add_version(spec, body, version)


def _without_nulls(value: object) -> object:
    """The value without nulls, which Kubernetes treats as absent."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value).items()
        return {key: _without_nulls(inner) for key, inner in entries if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast("list[object]", value)]
    return value


def _check_names(body: _Body) -> None:
    """Check the names that become part of file names and of Python code.

    Raises:
        NameFormatError: If a name is invalid; the server would reject it, too.
    """
    names.check_dns1123_subdomain(body.group)
    for name in (body.names.kind, body.names.list_kind or body.names.kind, body.names.plural):
        # Kinds are labels in any case of letters.
        names.check_dns1035_label(name.lower())
    for version in body.versions:
        names.check_dns1035_label(version.name)


def _check_list_types(schema: Schema) -> None:
    """Check what becomes a literal in Python code.

    Raises:
        ValueError: If a list type or map type is unknown.
    """
    for name, value, known in (
        ("x-kubernetes-list-type", schema.list_type, get_args(ListType)),
        ("x-kubernetes-map-type", schema.map_type, get_args(MapType)),
    ):
        if value is not None and value not in known:
            raise ValueError(f"{name} {value!r} is none of {', '.join(filter(None, known))}")
    for inner in schema.children():
        _check_list_types(inner)


def _name_of(definition: Mapping[str, Any]) -> str:
    metadata: object = definition.get("metadata")
    return str(cast("Mapping[str, Any]", metadata).get("name", "?")) if isinstance(metadata, Mapping) else "?"


def _add_version(spec: Spec, body: _Body, version: _Version) -> None:
    served = GroupVersion(body.group, version.name)
    kind = served.kind(body.names.kind)
    list_kind = served.kind(body.names.list_kind or f"{kind.kind}List")
    # The server names schemas in its OpenAPI documents this way.
    prefix = ".".join([*reversed(served.group.split(".")), served.version])
    root = version.schema.root
    spec.schemas[f"{prefix}.{kind.kind}"] = msgspec.structs.replace(
        # A definition may restrict metadata, but its type is always ObjectMeta.
        root,
        properties={**root.properties, **_type_and("ObjectMeta")},
        kinds=(kind,),
    )
    spec.schemas[f"{prefix}.{list_kind.kind}"] = Schema(
        type="object",
        properties={
            **_type_and("ListMeta"),
            "items": Schema(type="array", items=Schema(ref=f"#/components/schemas/{prefix}.{kind.kind}")),
        },
        kinds=(list_kind,),
    )
    spec.resources[kind] = _resource(body, version, kind)


def _type_and(metadata: str) -> dict[str, Schema]:
    text = Schema(type="string")
    return {"apiVersion": text, "kind": text, "metadata": Schema(ref=f"{_META}{metadata}")}


def _resource(body: _Body, version: _Version, kind: GroupVersionKind) -> Resource:
    kinds = {"status": kind, "scale": _SCALE}
    return Resource(
        name=body.names.plural,
        singular=body.names.singular or kind.kind.lower(),
        namespaced=body.scope == "Namespaced",
        verbs=_VERBS,
        short_names=body.names.short_names,
        categories=body.names.categories,
        subresources=tuple(
            Subresource(name, kinds[name], _SUBRESOURCE_VERBS) for name in kinds if name in version.subresources
        ),
    )
