"""Patches of mutating policies: from the value of an expression to a changed object."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._cel.structs import StructValue
from masthead._cel.values import Duration, ListLike, MapLike, OptionalValue, Timestamp, Uint, Value, find, type_name
from masthead._meta.quoting import quoted
from masthead._schema.structured_merge.items import UnidentifiedItemError
from masthead._schema.structured_merge.merging import merge
from masthead._schema.structured_merge.type_checking import errors_text, type_errors
from masthead._schema.structured_merge.types import ListType, MapType
from masthead_server import scheme
from masthead_server.field_managers.field_manager import field_manager_of
from masthead_server.resources.go_values import Mismatch
from masthead_server.resources.unstructured import restore
from masthead_server.wire.json_patch import FailedTestError, InapplicablePatchError, apply_admission_patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.apitype import ApiType
    from masthead._meta.gvk import GroupVersionKind
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import MergeType
    from masthead_server.admission.matching import Match
    from masthead_server.wire.plain import Plain

__all__ = ["PatchError", "apply_configuration", "apply_operations"]

_MAX_NUMBER: Final = 2**53 - 1
"""The largest integer that JSON has as a number here; larger ones are strings, as in protobuf."""


class PatchError(Exception):
    """A patch cannot be applied."""


def apply_configuration(found: Plain, value: Value, match: Match) -> Plain:
    """Merge the apply configuration that an expression made into an object.

    Args:
        found: The object, with its kind; it is not changed.
        value: The value of the expression.
        match: The resource and kind of the object.

    Raises:
        PatchError: If the configuration does not fit the object.
    """
    # The compiler has checked the type, except where an expression is dynamic.
    if not isinstance(value, StructValue):
        raise PatchError(f"unsupported return type from ApplyConfiguration expression: {type_name(value)}")
    if problems := list(_type_name_problems(value, (value.type_name,))):
        raise PatchError("type mismatch: " + "\n".join(problems))
    kind = match.kind
    patch = {**cast("Plain", _to_plain(value)), "apiVersion": kind.api_version, "kind": kind.kind}
    if kind.group_version != match.served.gvk.group_version:
        # The schema of a version has only kinds of that version.
        raise _unfit(f"no corresponding type for {kind.group}/{kind.version}, Kind={kind.kind}")
    type_ = field_manager_of(match.served, "").versions.type_of(kind.api_version)
    if problems := [*_null_problems(value, type_, ""), *type_errors(patch, type_)]:
        raise _unfit(errors_text(problems))
    # A part of an atomic value would replace all of it, which nobody intends.
    if atomics := list(_find_atomics(patch, type_, "")):
        why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
        raise PatchError(f"error applying patch: invalid ApplyConfiguration: {why}")
    try:
        merged = cast("Plain", merge(found, patch, type_))
    except UnidentifiedItemError as error:
        raise PatchError(f"error applying patch: failed to merge patch: {error}") from None
    return merged if match.served.is_custom else _convert_values(merged, kind)


def _convert_values(merged: Plain, kind: GroupVersionKind) -> Plain:
    """Convert the values of a merged object to those of its Go type, where numbers may overflow.

    Raises:
        PatchError: If a value has the wrong type.
    """
    try:
        return restore(merged, cast("ApiType", scheme.object_class(kind)))[0]
    except Mismatch as error:
        shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        raise PatchError(f"unable to convert unstructured object to {shown}: {error}") from None


def _unfit(problem: str) -> PatchError:
    return PatchError(f"error applying patch: failed to convert patch object to typed object: {problem}")


def _type_name_problems(value: Value, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the problems of messages whose type does not name the field that they are in."""
    if isinstance(value, StructValue):
        expected = ".".join(path)
        if value.type_name != expected:
            why = "which matches field name path from root Object type"
            yield f"unexpected type name {quoted(value.type_name)}, expected {quoted(expected)}, {why}"
        for name, field in value.fields.items():
            yield from _type_name_problems(field, (*path, name))
    elif value.__class__ is list:
        for item in value:
            yield from _type_name_problems(item, path)
    elif value.__class__ is dict:
        for item in value.values():
            yield from _type_name_problems(item, path)


def _null_problems(value: StructValue, of: MergeType, path: str) -> Iterator[str]:
    """Yield the problems of fields that are null: the real server takes CEL's null for a value of no known type."""
    form = of.map_type
    for name, field in value.fields.items():
        type_ = None if form is None else form.type_of(name)
        if type_ is None:
            continue
        if isinstance(field, StructValue):
            yield from _null_problems(field, type_, f"{path}.{name}")
        elif field is None:
            expected = "map" if type_.map_type else "list" if type_.list_type else "string"
            shown = "&value.valueUnstructured{Value:0}" if expected == "string" else "&{NULL_VALUE}"
            yield f"{path}.{name}: expected {expected}, got {shown}"


def _find_atomics(value: Json, of: MergeType, path: str) -> Iterator[str]:
    """Yield the paths of lists, maps and structs that can only be replaced as a whole."""
    form = of.form(value)
    if isinstance(form, MapType) and value.__class__ is dict:
        if form.is_atomic:
            yield path
        for name, field in value.items():
            type_ = form.type_of(name) if form.declares(name) else None
            if type_ is not None:
                yield from _find_atomics(field, type_, f"{path}.{name}")
    elif isinstance(form, ListType) and value.__class__ is list:
        if form.is_atomic:
            yield path
        for index, item in enumerate(value):
            yield from _find_atomics(item, form.items, f"{path}[{index}]")


def apply_operations(found: Plain, value: Value) -> object:
    """Apply the JSON patch that an expression made to an object.

    Args:
        found: The object, with its kind; it is not changed.
        value: The value of the expression.

    Returns:
        The patched document; the object itself if a test in the patch fails.

    Raises:
        PatchError: If an operation does not apply.
        StatusFailure: If it exceeds a limit.
    """
    operations = [_operation(item) for item in value]
    # An expression says so that there is nothing to change.
    if not operations:
        return found
    try:
        patched = apply_admission_patch(found, msgspec.json.encode(operations))
    # A test is a condition, and no assertion: the patch is skipped.
    except FailedTestError:
        return found
    except InapplicablePatchError as error:
        raise PatchError(f"JSON Patch: {error}") from None
    return found if patched is None else patched


def _operation(value: StructValue) -> Plain:
    fields = value.fields
    operation: Plain = {"op": fields.get("op", ""), "path": fields.get("path", "")}
    # As in Go, an empty text counts as missing.
    if fields.get("from"):
        operation["from"] = fields["from"]
    if "value" in fields:
        given = fields["value"]
        if isinstance(given, StructValue) and (problems := list(_type_name_problems(given, (given.type_name,)))):
            raise PatchError("type mismatch: " + "\n".join(problems))
        operation["value"] = _to_plain(given, is_json=True)
    return operation


def _to_plain(value: Value, *, is_json: bool = False) -> object:
    """Return the plain form of a value.

    Args:
        value: The value.
        is_json: Whether it is written as JSON, where large integers are text.

    Raises:
        PatchError: If it cannot be written so.
    """
    if isinstance(value, OptionalValue):
        if not value.has_value:
            raise _unwritable("optional.none() dereference")
        return _to_plain(value.value, is_json=is_json)
    if isinstance(value, StructValue):
        return {name: _to_plain(field, is_json=is_json) for name, field in value.fields.items()}
    if value.__class__ is dict or isinstance(value, MapLike):
        return {_key(key): _to_plain(find(value, key), is_json=is_json) for key in value}
    if value.__class__ is list or isinstance(value, ListLike):
        return [_to_plain(item, is_json=is_json) for item in value]
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int | Uint):
        return str(value) if is_json and abs(value) > _MAX_NUMBER else int(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Duration | Timestamp):
        return str(value)
    raise _unwritable(f"type conversion not supported for '{type_name(value)}'")


def _unwritable(problem: str) -> PatchError:
    return PatchError(f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {problem}")


def _key(key: Value) -> str:
    if type(key) is not str:
        raise PatchError(f"map key {key} is of type {type_name(key)}, not string")
    return key
