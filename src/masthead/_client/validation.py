"""Validation before sending: by the schema of the cluster, or by that of a definition."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeAlias

from masthead._client.last_applied import builtin_class
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._meta.v1 import StatusCause
from masthead._module import set_module
from masthead.errors import ArgumentError, DecodeError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.plain import Plain
    from masthead._schema.documents import DocumentDefinitions
    from masthead._schema.object_validation import ObjectFindings
    from masthead._schema.schema import Schema


__all__ = ["ObjectOrData", "validate", "validate_by_cluster"]

ObjectOrData: TypeAlias = "Object | Mapping[str, object]"
"""An object, or its plain data."""


class _SchemaReader(Protocol):
    async def __call__(self, api_version: str) -> DocumentDefinitions: ...


@set_module("masthead.crd")
def validate(
    obj: ObjectOrData, definition: ObjectOrData | None = None, *, old: ObjectOrData | None = None
) -> list[StatusCause]:
    """Validate a custom resource by its CustomResourceDefinition, without a server.

    Args:
        obj: The object, or its data.
        definition: The definition, or its data; None for that of its class, a `CustomResource`.
        old: The object before an update, for rules about changes.

    Returns:
        What the server would refuse, as the causes of its `UnprocessableError`; empty if it is valid. A field that the
        kind does not have is among them, although a server only warns of it, unless it is asked to be strict.

    Raises:
        ArgumentError: If the definition does not define the object's kind and version, or none is given and the kind
            has no class that defines it.
        DecodeError: If the definition has no valid schema.
    """
    from masthead._schema.object_validation import validate_object

    data, before = _plain(obj), None if old is None else _plain(old)
    gvk = _gvk_of(data)
    schema = _schema_of_class(obj, gvk) if definition is None else _schema_of(_plain(definition), gvk)
    return _causes(validate_object(data, schema, old=before))


def _schema_of_class(obj: ObjectOrData, gvk: GroupVersionKind) -> Schema:
    """The schema of the class that defines a kind: of the object itself, or of the registered class."""
    from masthead._customresource.resource import CustomResource, schema_of

    cls: type[object] = type(obj)
    if not issubclass(cls, CustomResource):
        # Plain data may be of a registered class, too.
        with suppress(UnknownKindError):
            cls = registry.object_class(gvk)
    if not issubclass(cls, CustomResource):
        raise ArgumentError(
            f"{gvk} has no CustomResource class; give the definition, or use the validate method of a client",
            value=str(gvk),
        )
    return schema_of(cls)


async def validate_by_cluster(
    read_schemas: _SchemaReader, obj: ObjectOrData, old: ObjectOrData | None
) -> list[StatusCause]:
    """Validate an object by the schema that a cluster has for its kind; see `Client.validate`.

    Args:
        read_schemas: Reads the schemas of a group-version.
        obj: The object.
        old: The object before an update.

    Raises:
        ArgumentError: If the object has no apiVersion or kind.
        UnknownKindError: If the cluster has no schema of the kind.
        DecodeError: If the schemas are incomplete.
    """
    from masthead._schema.object_validation import validate_object

    data, before = _plain(obj), None if old is None else _plain(old)
    gvk = _gvk_of(data)
    definitions = await read_schemas(gvk.api_version)
    schema = definitions.of_kind(gvk)
    if schema is None:
        raise UnknownKindError(f"the cluster has no schema of {gvk}")
    is_builtin = builtin_class(gvk) is not None
    try:
        return _causes(validate_object(data, schema, definitions, old=before, is_builtin=is_builtin))
    except KeyError as error:
        raise DecodeError(f"a schema is missing: {error}", kind="OpenAPI document", subject=gvk.api_version) from None


def _plain(obj: ObjectOrData) -> Plain:
    return obj.to_dict() if isinstance(obj, Object) else dict(obj)


def _gvk_of(data: Plain) -> GroupVersionKind:
    version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str) or not version or not kind:
        raise ArgumentError("to validate an object, say what it is: its apiVersion and kind", value=kind)
    return GroupVersionKind.of(version, kind)


def _part(data: Plain, name: str) -> Plain:
    """A part of plain data; empty if it is missing."""
    return data.get(name) or {}


def _schema_of(definition: Plain, gvk: GroupVersionKind) -> Schema:
    """The schema of a version of a definition."""
    spec = _part(definition, "spec")
    kind = _part(spec, "names").get("kind")
    if (spec.get("group"), kind) != (gvk.group, gvk.kind):
        raise ArgumentError(
            f"the definition is of the kind {kind} in the group {spec.get('group')}, and the object is of {gvk}",
            value=str(gvk),
        )
    versions: list[Plain] = spec.get("versions") or []
    for version in versions:
        if version.get("name") == gvk.version:
            return _read_schema(_part(_part(version, "schema"), "openAPIV3Schema"), str(gvk))
    known = ", ".join(str(version.get("name")) for version in versions)
    raise ArgumentError(f"the definition has the versions {known}, not {gvk.version}", value=gvk.version)


def _read_schema(plain: Plain, subject: str) -> Schema:
    import msgspec

    from masthead._schema.schema import Schema

    try:
        return Schema.from_plain(plain)
    except msgspec.ValidationError as error:
        raise DecodeError(str(error), kind="schema", subject=subject) from None


def _causes(findings: ObjectFindings) -> list[StatusCause]:
    # Unknown fields first: they often explain the errors that follow.
    unknown = [
        StatusCause(field=path, message=f'unknown field "{path}"', reason="FieldValueInvalid")
        for path in findings.unknown
    ]
    errors = [StatusCause(field=error.field, message=error.body, reason=error.reason) for error in findings.errors]
    return [*unknown, *errors]
