"""Validation of whole objects against the schema of their kind, from OpenAPI or from a definition.

It covers the server's checks before admission: unknown fields, wrong types and values, missing fields, duplicate items,
and violated rules. It does not cover the hand-written validation of kube-apiserver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead._schema.defaulting import apply_defaults
from masthead._schema.errors import FieldError, required
from masthead._schema.list_types import list_errors
from masthead._schema.merge_order import is_list, is_object
from masthead._schema.prune import drop_nulls, prune
from masthead._schema.schema import Definitions, Json, Schema
from masthead._schema.validation import compile_validator

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["ObjectFindings", "validate_object"]

_BLOCKING: Final = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""The errors that keep rules from being evaluated: those rely on types and limits."""
_EITHER: Final = (Schema(type="integer"), Schema(type="string"))
_NAMELESS: Final = required("metadata.name", "name or generateName is required")


@dataclass(frozen=True, slots=True)
class ObjectFindings:
    """The unknown fields and the errors of an object.

    Attributes:
        unknown: The paths of fields that its kind does not have.
        errors: The errors of fields.
    """

    unknown: list[str]
    errors: list[FieldError]


def validate_object(
    value: Mapping[str, Any],
    schema: Schema,
    definitions: Definitions | None = None,
    *,
    old: Mapping[str, Any] | None = None,
    is_builtin: bool = False,
) -> ObjectFindings:
    """Validate an object; it is not changed.

    Args:
        value: The object, plain JSON.
        schema: The schema of its kind.
        definitions: The schemas that it refers to.
        old: The object before an update, for transition rules. Errors in unchanged parts are ignored then.
        is_builtin: Whether it is a kind of Kubernetes itself, for which null means that a field is not set, and whose
            lists are checked by code instead of by their types.

    Raises:
        KeyError: If the schema refers to a missing schema.
        DefaultsTooLarge: If the defaults of the schema multiply without end.
    """
    found = _copy(value)
    before = None if old is None else _copy(old)
    values = [version for version in (found, before) if version is not None]
    for item in values:
        _unset(item) if is_builtin else drop_nulls(item, schema)
    full = _resolve(schema, list(values), definitions or Definitions())
    if definitions is not None and not is_builtin:
        full = _as_defined(full)
    unknown = _prune(found, full)
    if before is not None:
        _prune(before, full)
    if not is_builtin:
        for item in values:
            apply_defaults(item, full)
    errors = compile_validator(full).errors(found, msgspec.UNSET if before is None else before)
    metadata = found.get("metadata")
    if not is_object(metadata) or not (metadata.get("name") or metadata.get("generateName")):
        errors.append(_NAMELESS)
    if not is_builtin:
        errors += list_errors(found, full)
        errors += _rule_errors(full, found, before, errors)
    return ObjectFindings(unknown, errors)


def _copy(value: Mapping[str, Any]) -> dict[str, Json]:
    return cast("dict[str, Json]", msgspec.json.decode(msgspec.json.encode(value)))


def _unset(value: Json) -> None:
    """Drop fields that are null, at any depth; items of lists stay."""
    if is_object(value):
        for key in [key for key, inner in value.items() if inner is None]:
            del value[key]
        for inner in value.values():
            _unset(inner)
    elif is_list(value):
        for item in value:
            _unset(item)


def _prune(value: dict[str, Json], schema: Schema) -> list[str]:
    """Drop unknown fields of an object, those of its metadata included; returns their paths."""
    unknown = prune(value, schema)
    metadata = schema.properties.get("metadata")
    if metadata is not None and metadata.properties:
        unknown += [f"metadata.{path}" for path in prune(value.get("metadata"), metadata, is_object=False)]
    return sorted(unknown)


def _resolve(schema: Schema, values: list[Json], definitions: Definitions) -> Schema:
    """Replace references by what they refer to, as far as some values need it: types may contain themselves."""
    if schema.target:
        found = definitions.resolve(schema)
        schema = found if found.type != "object" or _has_fields(found) else _free_form(found)
    if not any(map(_has_references, schema.children())):
        return schema
    objects: list[dict[str, Json]] = [value for value in values if is_object(value)]
    changes: dict[str, object] = {
        "properties": {
            name: _resolve(nested, [obj[name] for obj in objects if name in obj], definitions)
            if any(name in obj for obj in objects)
            else Schema()
            if nested.target
            else nested
            for name, nested in schema.properties.items()
        }
    }
    if isinstance(schema.additional_properties, Schema):
        inner: list[Json] = [member for obj in objects for member in obj.values()]
        changes["additional_properties"] = _resolve(schema.additional_properties, inner, definitions)
    if schema.items is not None:
        items: list[Json] = [item for value in values if is_list(value) for item in value]
        changes["items"] = _resolve(schema.items, items, definitions) if items else Schema()
    return msgspec.structs.replace(schema, **changes)


def _as_defined(schema: Schema) -> Schema:
    """Remove what OpenAPI adds to the schema of a definition: integers or strings have both types spelled out."""
    extra = schema.additional_properties
    return msgspec.structs.replace(
        schema,
        any_of=() if schema.int_or_string and schema.any_of == _EITHER else schema.any_of,
        properties={name: _as_defined(nested) for name, nested in schema.properties.items()},
        items=None if schema.items is None else _as_defined(schema.items),
        additional_properties=_as_defined(extra) if isinstance(extra, Schema) else extra,
    )


def _has_fields(schema: Schema) -> bool:
    return bool(schema.properties) or schema.additional_properties is not None


def _free_form(schema: Schema) -> Schema:
    """An object without fields takes any."""
    return msgspec.structs.replace(schema, preserve_unknown=True)


def _has_references(schema: Schema) -> bool:
    return bool(schema.target) or any(map(_has_references, schema.children()))


def _rule_errors(
    schema: Schema, value: dict[str, Json], old: dict[str, Json] | None, errors: list[FieldError]
) -> list[FieldError]:
    if not _has_rules(schema) or any(error.reason in _BLOCKING for error in errors):
        return []
    from masthead._schema.rules import compile_rules

    return compile_rules(schema).errors(value, old)


def _has_rules(schema: Schema) -> bool:
    return bool(schema.rules) or any(map(_has_rules, schema.children()))
