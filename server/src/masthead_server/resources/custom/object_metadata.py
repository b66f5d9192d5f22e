"""Metadata of custom resources, decoded as Go's ObjectMeta: at the root of objects, and in embedded ones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from masthead._meta.metadata import ObjectMeta
from masthead._schema.errors import invalid, required, sorted_keys
from masthead._schema.schema import Schema
from masthead_server.resources import names
from masthead_server.resources.go_decoder import Mismatch, decoder_of
from masthead_server.resources.strategy import Strategy
from masthead_server.resources.validation.metadata import create_errors
from masthead_server.wire.go_json import type_name
from masthead_server.wire.plain import Plain, text

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._schema.errors import FieldError

__all__ = ["coerce_embedded", "decode_metadata", "drop_invalid_metadata", "embedded_errors"]

_METADATA: Final = "metadata"


def decode_metadata(value: object) -> tuple[Plain, list[str]]:
    """Decode metadata as Go's ObjectMeta, without the fields that this does not have.

    Returns:
        The metadata, and the paths of unknown fields in it.

    Raises:
        Mismatch: If a value is not of its field's type.
    """
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        raise Mismatch(f"json: cannot unmarshal {type_name(value)} into Go value of type v1.ObjectMeta")
    found, unknown = decoder_of(cast("ApiType", ObjectMeta)).clean(cast("Plain", value))
    # A decoder knows kind and apiVersion, because its values may be whole objects.
    return found, [*unknown, *(name for name in ("apiVersion", "kind") if name in value)]


def drop_invalid_metadata(value: object) -> object:
    """Return metadata without the fields that are not of their types."""
    if not isinstance(value, dict):
        return value
    found: Plain = {}
    for name, nested in cast("Plain", value).items():
        with suppress(Mismatch):
            found |= decode_metadata({name: nested})[0]
    return found


_Visit: TypeAlias = Callable[[Plain, str], None]


def coerce_embedded(value: object, schema: Schema, *, drops_invalid: bool = False) -> list[str]:
    """Decode the metadata of embedded objects, and check the types of their kinds and versions, in place.

    Args:
        value: An object of a custom resource.
        schema: Its schema.
        drops_invalid: Whether to drop values of the wrong type, as from objects that were stored when the schema
            was another.

    Returns:
        The paths of unknown fields of metadata, sorted.

    Raises:
        Mismatch: If a value is not of its field's type.
    """
    unknown: list[str] = []

    def coerce(found: Plain, path: str) -> None:
        for name in ("apiVersion", "kind"):
            if name in found and not isinstance(found[name], str):
                if not drops_invalid:
                    raise Mismatch(str(invalid(_child(path, name), sorted_keys(found[name]), "must be a string")))
                # A stored object must stay readable after its schema has changed.
                del found[name]
        if _METADATA not in found:
            return
        where = _child(path, _METADATA)
        # The server writes the metadata, and reads it again: of several mistakes, it reports the first.
        meta = sorted_keys(found[_METADATA])
        try:
            found[_METADATA], extra = decode_metadata(meta)
        except Mismatch as problem:
            if drops_invalid:
                found[_METADATA] = drop_invalid_metadata(meta)
                return
            raise Mismatch(str(invalid(where, meta, str(problem)))) from None
        unknown.extend(f"{where}.{item}" for item in extra)

    _visit(value, schema, "", coerce)
    return sorted(unknown)


def embedded_errors(value: object, schema: Schema) -> list[FieldError]:
    """Return the errors of embedded objects: their kinds, versions and metadata."""
    errors: list[FieldError] = []

    def check(found: Plain, path: str) -> None:
        errors.extend(required(_child(path, name)) for name in ("apiVersion", "kind") if name not in found)
        if "apiVersion" in found:
            errors.extend(_version_errors(_child(path, "apiVersion"), found["apiVersion"]))
        if "kind" in found:
            errors.extend(_kind_errors(_child(path, "kind"), found["kind"]))
        if _METADATA in found:
            errors.extend(_metadata_errors(_child(path, _METADATA), found[_METADATA]))

    _visit(value, schema, "", check)
    return errors


def _visit(value: object, schema: Schema, path: str, visit: _Visit) -> None:
    """Call a function with every embedded object and its path."""
    if isinstance(value, dict):
        found = cast("Plain", value)
        if schema.embedded_resource:
            visit(found, path)
        values = schema.additional_properties
        for key, nested in found.items():
            # Scalars cannot contain an embedded object, and are most values.
            if not isinstance(nested, dict | list):
                continue
            if key in schema.properties:
                _visit(cast("object", nested), schema.properties[key], _child(path, key), visit)
            elif isinstance(values, Schema):
                _visit(cast("object", nested), values, f"{path}[{key}]", visit)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(cast("list[object]", value)):
            _visit(item, schema.items, f"{path}[{index}]", visit)


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _version_errors(path: str, value: object) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid(path, value, "must be a string")]
    if not value:
        return [invalid(path, value, "must not be empty")]
    # Go's parser of versions accepts any group and version with one slash.
    if value.count("/") > 1:
        return [invalid(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind_errors(path: str, value: object) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid(path, value, "must be a string")]
    if not value:
        return [invalid(path, value, "must not be empty")]
    if problems := names.LABEL_1035(value.lower()):
        advice = "may have mixed case, but should otherwise match: "
        return [invalid(path, value, advice + ",".join(problems))]
    return []


_EMBEDDED: Final = Strategy(name_rule=names.as_url_part, known_finalizers=False)


def _metadata_errors(path: str, value: object) -> list[FieldError]:
    try:
        found, _ = decode_metadata(value)
    except Mismatch as problem:
        return [invalid(path, value, str(problem))]
    # A name is not required here, and so one is put in its place.
    named: dict[str, Any] = {**found, "name": text(found, "name") or "fakename"}
    # An embedded object may be namespaced or not; its metadata tells.
    errors = create_errors({_METADATA: named}, _EMBEDDED, namespaced=bool(text(found, "namespace")))
    return [_prefix_path(error, path) for error in errors]


def _prefix_path(error: FieldError, path: str) -> FieldError:
    return replace(error, field=path + error.field.removeprefix(_METADATA))
