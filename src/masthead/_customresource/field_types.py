"""The schemas of scalar types, and the constraints that apply to each type."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args, get_origin

import msgspec
from msgspec.structs import replace

from masthead._meta.quantity import Quantity
from masthead._meta.time import MicroTime
from masthead._schema.field import Field, constraints_of_meta
from masthead._schema.schema import Schema
from masthead._schema.well_known import INT_OR_STRING, QUANTITY, TIME
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["constrain", "fields_in", "scalar_schema"]

_SCALARS: Final[Mapping[object, Schema]] = {
    str: Schema(type="string"),
    int: Schema(type="integer", format="int64"),
    float: Schema(type="number", format="double"),
    bool: Schema(type="boolean"),
    bytes: Schema(type="string", format="byte"),
    datetime: TIME,
    MicroTime: TIME,
    Quantity: QUANTITY,
    int | str: INT_OR_STRING,
}
_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer"}
_NUMBERS: Final = ("integer", "number")
_APPLIES_TO: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusive_minimum", "exclusive_maximum", "multiple_of"), _NUMBERS),
    **dict.fromkeys(("min_length", "max_length", "pattern"), ("string",)),
    **dict.fromkeys(("min_items", "max_items", "list_type", "list_map_keys"), ("array",)),
    **dict.fromkeys(("min_properties", "max_properties", "map_type"), ("object",)),
    "format": ("string", *_NUMBERS),
}
"""The types to which a constraint applies."""


def scalar_schema(annotation: object, path: str) -> Schema | None:
    """Return the schema of a scalar type; None for another type.

    Raises:
        CustomResourceError: If it is an enumeration whose values have different types.
    """
    if (found := _SCALARS.get(cast("Any", annotation))) is not None:
        return found
    if get_origin(annotation) is Literal:
        return _enumeration(get_args(annotation), path)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _enumeration([member.value for member in annotation], path)
    return None


def _enumeration(values: Iterable[object], path: str) -> Schema:
    choices = tuple(dict.fromkeys(values))
    types = {type(choice) for choice in choices}
    if len(types) != 1 or not types <= _TYPES.keys():
        raise CustomResourceError(
            f"the choices {', '.join(map(repr, choices))} must all be strings, or all be integers", path=path
        )
    return Schema(type=_TYPES[types.pop()], enum=choices)


def fields_in(metadata: Iterable[object]) -> list[Field]:
    """Return the `Field` objects in the metadata of an annotation."""
    return [item for item in metadata if isinstance(item, Field)]


def constrain(schema: Schema, metadata: Iterable[object], path: str) -> Schema:
    """Add the constraints in the metadata of an annotation to a schema.

    Raises:
        CustomResourceError: If a constraint does not apply to the type.
    """
    for constraint in metadata:
        if isinstance(constraint, msgspec.Meta):
            schema = _narrow(schema, constraints_of_meta(constraint, schema), path)
        elif isinstance(constraint, Field):
            schema = _narrow(schema, constraint.given, path)
            schema = replace(
                schema,
                rules=(*schema.rules, *constraint.rules),
                preserve_unknown=True if constraint.preserve_unknown else schema.preserve_unknown,
            )
        elif isinstance(constraint, type) and issubclass(constraint, Field):
            raise CustomResourceError("write Field(...) instead of Field", path=path)
    return schema


def _narrow(schema: Schema, given: Mapping[str, object], path: str) -> Schema:
    for name in given:
        allowed = _APPLIES_TO.get(name)
        if allowed is None or schema.type in allowed or (schema.int_or_string and name == "pattern"):
            continue
        what = schema.type or ("an integer or string" if schema.int_or_string else "any type")
        raise CustomResourceError(f"{name} is for values of type {' or '.join(allowed)}, not {what}", path=path)
    # A list of conditions has keys by default; another merge strategy replaces them.
    keys = {} if given.get("list_type") in {None, "map"} else {"list_map_keys": ()}
    return replace(schema, **cast("dict[str, Any]", {**keys, **given}))
