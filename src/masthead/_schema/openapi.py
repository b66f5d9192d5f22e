"""Schemas in OpenAPI documents: those of custom resources, and what version 2 can express of a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from masthead._schema.schema import REF_PREFIX, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.gvk import GroupVersionKind

__all__ = [
    "LIST_META",
    "OBJECT_META",
    "REF_PREFIX_V2",
    "custom_list",
    "custom_name",
    "custom_object",
    "custom_object_in_version_2",
    "to_version_2",
]

REF_PREFIX_V2: Final = "#/definitions/"
"""What precedes the full name of a schema in a reference of OpenAPI v2."""
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
OBJECT_META: Final = f"{_META}ObjectMeta"
LIST_META: Final = f"{_META}ListMeta"
_STRING: Final = Schema(type="string")
_INT_OR_STRING: Final = (Schema(type="integer"), _STRING)
_METADATA: Final = Schema(all_of=(Schema(ref=REF_PREFIX + OBJECT_META),))
_TYPE_META: Final = {"apiVersion": _STRING, "kind": _STRING}


def custom_name(gvk: GroupVersionKind) -> str:
    """Return the full name of the schema of a custom resource: ``com.example.v1.Widget``."""
    return ".".join([*reversed(gvk.group.split(".")), gvk.version, gvk.kind])


def custom_object(schema: Schema | None, gvk: GroupVersionKind) -> Schema:
    """Return the schema of a custom resource as documents have it, with the fields that every object has.

    Args:
        schema: The schema of its definition; None if that has none, or none that is structural.
        gvk: The kind.
    """
    if schema is None:
        return Schema(type="object", kinds=(gvk,))
    return _with_fields(_rewrite_tree(schema, _complete), gvk)


def custom_object_in_version_2(schema: Schema | None, gvk: GroupVersionKind) -> Schema:
    """Return the schema of a custom resource as documents of version 2 have it.

    Args:
        schema: The schema of its definition; None if that has none, or none that is structural.
        gvk: The kind.
    """
    if schema is None or schema.preserve_unknown:
        return Schema(type="object", kinds=(gvk,))
    return to_version_2(_with_fields(_rewrite_tree(to_version_2(schema), _complete_closed), gvk))


def _with_fields(schema: Schema, gvk: GroupVersionKind) -> Schema:
    properties = {**schema.properties, **_TYPE_META, "metadata": _METADATA}
    return replace(schema, properties=dict(sorted(properties.items())), kinds=(gvk,))


def custom_list(gvk: GroupVersionKind, list_kind: str) -> Schema:
    """Return the schema of a list of custom resources.

    Args:
        gvk: The kind of its items.
        list_kind: The kind of the list.
    """
    items = Schema(type="array", items=Schema(ref=REF_PREFIX + custom_name(gvk)))
    metadata = Schema(all_of=(Schema(ref=REF_PREFIX + LIST_META),))
    return Schema(
        type="object",
        required=("items",),
        properties={"apiVersion": _STRING, "items": items, "kind": _STRING, "metadata": metadata},
        kinds=(gvk.group_version.kind(list_kind),),
    )


def _complete(schema: Schema) -> Schema:
    """State what follows from extensions: the types of int-or-string, and the fields of embedded objects."""
    if schema.int_or_string:
        return _with_types(schema)
    if not schema.embedded_resource:
        return schema
    properties = {**schema.properties, **_TYPE_META, "metadata": _METADATA}
    missing = (name for name in ("kind", "apiVersion") if name not in schema.required)
    return replace(schema, properties=dict(sorted(properties.items())), required=(*schema.required, *missing))


def _complete_closed(schema: Schema) -> Schema:
    """Complete a schema unless it has unknown fields, which version 2 describes by nothing at all."""
    return schema if schema.preserve_unknown else _complete(schema)


def _with_types(schema: Schema) -> Schema:
    first = schema.all_of[0].any_of if schema.all_of else ()
    if _INT_OR_STRING in [schema.any_of, first]:
        return schema
    if not schema.any_of:
        return replace(schema, any_of=_INT_OR_STRING)
    return replace(schema, all_of=(Schema(any_of=_INT_OR_STRING), *schema.all_of))


def to_version_2(schema: Schema) -> Schema:
    """Return what OpenAPI v2 can express of a schema. It has no defaults, no null, and no alternatives.

    Where a value may be null, or have unknown fields, clients that know version 2 alone must not check anything.
    """
    return _rewrite_tree(schema, _version_2)


def _version_2(schema: Schema) -> Schema:
    if target := schema.target:
        return replace(schema, ref=REF_PREFIX_V2 + target, all_of=(), default=msgspec.UNSET, nullable=False)
    is_open = bool(schema.preserve_unknown)
    items = None if schema.nullable or is_open else schema.items
    is_untyped = schema.nullable or (schema.type == "array" and items is None) or (schema.type == "object" and is_open)
    return replace(
        schema,
        type="" if is_untyped else schema.type,
        items=items,
        properties={} if schema.nullable or is_open else schema.properties,
        required=_required_in_version_2(schema),
        default=msgspec.UNSET,
        nullable=False,
        all_of=(),
        any_of=(),
        one_of=(),
        not_=None,
    )


def _required_in_version_2(schema: Schema) -> tuple[str, ...]:
    """Return the required fields that may not be null."""
    values = schema.additional_properties
    if isinstance(values, Schema) and values.nullable:
        return ()
    if schema.nullable or schema.preserve_unknown:
        return schema.required
    nullable = {name for name, nested in schema.properties.items() if nested.nullable}
    return tuple(name for name in schema.required if name not in nullable)


def _rewrite_tree(schema: Schema, rewrite: Callable[[Schema], Schema]) -> Schema:
    """Rewrite a schema, and then the schemas of the fields, values and items that remain."""
    found = rewrite(schema)
    changes: dict[str, object] = {}
    if found.properties:
        changes["properties"] = {name: _rewrite_tree(nested, rewrite) for name, nested in found.properties.items()}
    if isinstance(found.additional_properties, Schema):
        changes["additional_properties"] = _rewrite_tree(found.additional_properties, rewrite)
    if found.items is not None:
        changes["items"] = _rewrite_tree(found.items, rewrite)
    return replace(found, **changes) if changes else found
