"""Reads OpenAPI v3 and aggregated discovery documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from masthead._discovery.aggregated import read_aggregated
from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersion
from masthead._meta.resource import Resource, Subresource
from masthead._schema.schema import Schema
from masthead.errors import DecodeError, GenerateError

if TYPE_CHECKING:
    from masthead._codegen.spec import Spec
    from masthead._discovery.model import ServedResource

T = TypeVar("T")

_DISCOVERY: Final = "APIGroupDiscoveryList"


class _Label(msgspec.Struct):
    """The fields that identify the type of a document."""

    openapi: Any = None
    swagger: Any = None
    kind: Any = None


class _Components(msgspec.Struct):
    schemas: dict[str, Schema] = {}


class _OpenApi(msgspec.Struct):
    components: _Components = msgspec.field(default_factory=_Components)


class _Swagger(msgspec.Struct):
    definitions: dict[str, Schema] = {}


class _Location(msgspec.Struct, rename={"path": "serverRelativeURL"}):
    path: str


class _Index(msgspec.Struct):
    paths: dict[str, _Location]


def add_document(spec: Spec, data: bytes, origin: str) -> None:
    """Add an OpenAPI or discovery document; ignore other JSON.

    Args:
        spec: The spec to add to.
        data: The document.
        origin: The source of the document, for error messages.

    Raises:
        GenerateError: If the document is malformed.
    """
    label = _label(data, origin)
    if label.openapi is not None:
        _add_schemas(spec, data, origin)
    elif label.swagger is not None:
        # References are the only difference in schemas of Kubernetes.
        data = data.replace(b'"#/definitions/', b'"#/components/schemas/')
        spec.schemas.update(_decode(data, _Swagger, origin).definitions)
    elif label.kind == _DISCOVERY:
        _add_resources(spec, data, origin)


def add_openapi(spec: Spec, data: bytes, origin: str) -> None:
    """Add a document that must be OpenAPI v3.

    Raises:
        GenerateError: If it is something else, or malformed.
    """
    if _label(data, origin).openapi is None:
        raise GenerateError(f"{origin}: not an OpenAPI v3 document")
    _add_schemas(spec, data, origin)


def add_discovery(spec: Spec, data: bytes, origin: str) -> None:
    """Add a document that must be aggregated discovery.

    Raises:
        GenerateError: If it is something else, or malformed.
    """
    if _label(data, origin).kind != _DISCOVERY:
        raise GenerateError(
            f"{origin}: not aggregated discovery, which Kubernetes serves since 1.27; "
            "give --openapi a folder with the server's documents instead"
        )
    _add_resources(spec, data, origin)


def locations(data: bytes, origin: str) -> dict[GroupVersion, str]:
    """The path of the document of each group and version, from the index at ``/openapi/v3``.

    Raises:
        GenerateError: If the index is malformed.
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
    except msgspec.ValidationError:  # JSON, but not an object
        return _Label()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GenerateError(f"{origin}: {error}") from None


def _add_schemas(spec: Spec, data: bytes, origin: str) -> None:
    # Many documents contain shared types. They agree in all that is read here, so the first one wins.
    for name, schema in _decode(data, _OpenApi, origin).components.schemas.items():
        spec.schemas.setdefault(name, schema)


def _add_resources(spec: Spec, data: bytes, origin: str) -> None:
    try:
        found = read_aggregated(data)
    except DecodeError as error:
        raise GenerateError(f"{origin}: {error}") from None
    for failure in found.failures.values():
        # A stale group-version is complete: the server lists the last resources that it knew.
        if isinstance(failure, DecodeError):
            raise GenerateError(f"{origin}: {failure}")
    spec.resources.update({resource.gvk: _facts(resource) for resource in found if resource.kind})


def _facts(found: ServedResource) -> Resource:
    """The resource as a class describes it. Verbs are sorted, because servers list them in different orders."""
    return Resource(
        name=found.name,
        singular=found.singular,
        namespaced=found.namespaced,
        verbs=tuple(sorted(found.verbs)),
        short_names=found.short_names,
        categories=found.categories,
        subresources=tuple(
            Subresource(subresource.name, subresource.kind, tuple(sorted(subresource.verbs)))
            for subresource in found.subresources
        ),
    )


def _decode(data: bytes, target: type[T], origin: str) -> T:
    try:
        return typeinfo.decode_json(data, target)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GenerateError(f"{origin}: {error}") from None
