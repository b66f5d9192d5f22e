"""Paths into a schema: columns, scale and selectable fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from masthead._printers.jsonpath import JsonPathError, compile_path
from masthead._schema.schema import Schema
from masthead._schema.well_known import ANYTHING, TIME
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._customresource.options import Options, PrinterColumn

__all__ = ["check_scale", "check_selectable", "column_type"]

_STEP: Final = re.compile(
    r"\.(?P<name>(?:[A-Za-z_$](?:\\.|[\w-])*))|\[['\"](?P<key>[^'\"]*)['\"]\]|(?P<index>\[(?:-?\d+|\*|\?\(.*?\))\])"
)
_TEXT: Final = Schema(type="string")
_METADATA: Final = Schema(
    type="object",
    properties={
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIME),
        **dict.fromkeys(("generateName", "name", "namespace", "resourceVersion", "uid"), _TEXT),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), Schema(type="integer")),
        **dict.fromkeys(("annotations", "labels"), Schema(type="object", additional_properties=_TEXT)),
        "finalizers": Schema(type="array", items=_TEXT),
        "ownerReferences": Schema(type="array", items=ANYTHING),
    },
)
_SCALARS: Final = frozenset({"boolean", "integer", "number", "string"})
_SELECTABLE: Final = frozenset({"string", "boolean", "integer"})
_MAX_SELECTABLE: Final = 8


def column_type(name: str, column: PrinterColumn, schema: Schema, path: str) -> str:
    """Return the declared type of a column, or the type of its field.

    Raises:
        CustomResourceError: If the path is invalid, or leads to no field.
    """
    found = _follow(column.json_path, schema, f"{path}: column {name!r}")
    if column.type:
        return column.type
    # kubectl renders a date as an age.
    if found.format in {"date-time", "date"}:
        return "date"
    # The API has no column types for objects and lists.
    return found.type if found.type in _SCALARS else "string"


def check_scale(options: Options, schema: Schema, path: str) -> None:
    """Check the paths of the scale.

    Raises:
        CustomResourceError: If a path does not lead to such a field.
    """
    if options.scale is None:
        return
    wanted = (
        ("spec_replicas", options.scale.spec_replicas, (".spec.",), "integer"),
        ("status_replicas", options.scale.status_replicas, (".status.",), "integer"),
        ("label_selector", options.scale.label_selector, (".spec.", ".status."), "string"),
    )
    for what, json_path, roots, kind in wanted:
        # The only optional path; the scale works without it, autoscalers do not.
        if what == "label_selector" and not json_path:
            continue
        where = f"{path}: scale, {what}"
        if not json_path.startswith(roots):
            raise CustomResourceError(f"{json_path!r} must begin with {' or '.join(roots)}", path=where)
        found = _follow(json_path, schema, where)
        if found.type != kind:
            raise CustomResourceError(f"{json_path} must be of type {kind}, not {found.type}", path=where)


def check_selectable(options: Options, schema: Schema, path: str) -> None:
    """Check the selectable fields.

    Raises:
        CustomResourceError: If a path does not lead to a selectable field.
    """
    fields = options.selectable_fields
    if len(fields) > _MAX_SELECTABLE:
        raise CustomResourceError(f"at most {_MAX_SELECTABLE} fields are selectable", path=path)
    for json_path in fields:
        where = f"{path}: selectable field {json_path!r}"
        found = _follow(json_path, schema, where)
        # The server selects metadata by other means, and cannot select list items.
        if "[" in json_path or json_path.startswith(".metadata"):
            raise CustomResourceError("must be a plain path below .spec or .status", path=where)
        if found.type not in _SELECTABLE:
            raise CustomResourceError("must be a string, a boolean or an integer", path=where)
    if len(set(fields)) < len(fields):
        raise CustomResourceError("a selectable field is given twice", path=path)


def _follow(json_path: str, schema: Schema, where: str) -> Schema:
    if not json_path.startswith("."):
        raise CustomResourceError(f"the path {json_path!r} must begin with a dot: '.{json_path}'", path=where)
    try:
        compile_path(json_path)
    except JsonPathError as error:
        raise CustomResourceError(f"{json_path!r} is not a JSONPath: {error}", path=where) from None
    steps = list(_STEP.finditer(json_path))
    if "".join(step.group() for step in steps) != json_path:
        return ANYTHING  # `..`, `.*` and similar paths do not lead to a single field
    schema = _with_metadata(schema)
    done = ""
    for step in steps:
        done += step.group()
        found = _step(schema, step.groupdict())
        if found is None:
            raise CustomResourceError(f"{json_path!r} leads to no field: there is no {done}", path=where)
        schema = found
    return schema


def _with_metadata(schema: Schema) -> Schema:
    """Return the schema of an object with the fields of its metadata."""
    return replace(schema, properties={**schema.properties, "metadata": _METADATA})


def _step(schema: Schema, step: Mapping[str, str | None]) -> Schema | None:
    if step["index"]:
        return schema.items if schema.items is not None else _free(schema)
    # A backslash escapes dots in the names of annotations.
    name = step["key"] if step["key"] is not None else (step["name"] or "").replace("\\", "")
    if name in schema.properties:
        return schema.properties[name]
    if isinstance(schema.additional_properties, Schema):
        return schema.additional_properties
    return _free(schema)


def _free(schema: Schema) -> Schema | None:
    return ANYTHING if schema.preserve_unknown else None
