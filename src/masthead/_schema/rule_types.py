"""What rules see of values: CEL types of a schema, sizes for costs, and how JSON becomes CEL values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._cel.checker import RESERVED_FIELDS
from masthead._cel.errors import EvaluationError
from masthead._cel.library.formats import parse_base64
from masthead._cel.library.times import parse_timestamp
from masthead._cel.objects import ListValue, MapListValue, MapValue, ObjectShape, ObjectValue, SetValue
from masthead._cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_type,
)
from masthead._cel.values import Duration, Timestamp, Value
from masthead._meta.go_duration import parse_duration
from masthead._schema.schema import Json, Schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cel.objects import Converter

__all__ = ["MAX_REQUEST", "DeclaredType", "declare", "escape", "with_object_meta"]

MAX_REQUEST: Final = 3 * 1024 * 1024
"""The bytes of the largest request: no value can be larger."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_./\-]")
_ESCAPED: Final = re.compile(r"__|[-./]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_TEXT: Final = Schema(type="string")


def escape(name: str) -> str | None:
    """Return the name that a field has in expressions; None if it can have none."""
    if not name or name[0].isdigit() or _UNSAFE.search(name):
        return None
    # A keyword of CEL cannot be selected by its own name.
    if name in RESERVED_FIELDS:
        return f"__{name}__"
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], name)


class DeclaredType:
    """The type of a schema, as rules know it.

    Attributes:
        type: The CEL type, unless it is an object; `named` gives objects their types.
        fields: The fields of an object, by their names in expressions.
        items: The items of a list, or the values of a map.
        max_elements: The maximum number of items, entries or bytes.
        min_size: The minimum number of bytes in JSON.
    """

    __slots__ = ("fields", "items", "max_elements", "min_size", "type")

    def __init__(
        self,
        type_: Type,
        *,
        min_size: int,
        max_elements: int = 0,
        fields: dict[str, DeclaredType] | None = None,
        items: DeclaredType | None = None,
    ) -> None:
        self.type = type_
        self.fields = fields if fields is not None else {}
        self.items = items
        self.max_elements = max_elements
        self.min_size = min_size

    def named(self, name: str) -> Type:
        """Return the CEL type, with names for the types of objects in it."""
        if self.type.kind == "struct":
            fields = {inner: declared.named(f"{name}.{inner}") for inner, declared in self.fields.items()}
            return object_type(name, fields)
        if self.items is None:
            return self.type
        if self.type.kind == "list":
            return list_of(self.items.named(f"{name}.@idx"))
        return map_of(STRING, self.items.named(f"{name}.@elem"))

    def size_of(self, path: tuple[str, ...]) -> int | None:
        """Return the most elements of what a path leads to, from a variable on; None if it leads nowhere."""
        declared: DeclaredType | None = self
        # The first step is the variable itself, such as ``self``.
        for step in path[1:]:
            if declared is None:
                return None
            if step in {"@items", "@values"}:
                declared = declared.items
            elif step == "@keys":
                declared = _KEY if declared.type.kind == "map" else None
            else:
                declared = declared.fields.get(step)
        return None if declared is None else declared.max_elements


_KEY: Final = DeclaredType(STRING, min_size=2)
_BOOL: Final = DeclaredType(BOOL, min_size=4)
_INT: Final = DeclaredType(INT, min_size=1)
_DOUBLE: Final = DeclaredType(DOUBLE, min_size=1)
_OBJECT: Final = Type("struct", "object")

# The type, the fewest bytes in JSON, and the most elements.
_FORMATS: Final = {
    "duration": (DURATION, 3, 32),
    "date": (TIMESTAMP, 12, 12),
    "date-time": (TIMESTAMP, 21, 32),
}


def with_object_meta(schema: Schema) -> Schema:
    """Return the schema of a whole object, with apiVersion, kind, and the names in its metadata."""
    meta = schema.properties.get("metadata", Schema())
    known = (
        schema.properties.get("kind", Schema()).type == "string"
        and schema.properties.get("apiVersion", Schema()).type == "string"
        and meta.type == "object"
        and meta.properties.get("name", Schema()).type == "string"
        and meta.properties.get("generateName", Schema()).type == "string"
    )
    # Unchanged, so that the schema can be shared and compared by identity.
    if known:
        return schema
    metadata = Schema(type="object", properties={"name": _TEXT, "generateName": _TEXT})
    added = {"kind": _TEXT, "apiVersion": _TEXT, "metadata": metadata}
    return msgspec.structs.replace(schema, properties={**schema.properties, **added})


def declare(schema: Schema, *, is_root: bool) -> DeclaredType | None:
    """Return the type of a schema; None if rules do not see it.

    Args:
        schema: The schema.
        is_root: Whether it is a whole object: a custom resource or an embedded object.
    """
    if schema.int_or_string:
        # Without a limit, a text may fill a whole request, minus its quotes.
        bound = _bounded_length(schema)
        return DeclaredType(DYN, min_size=1, max_elements=MAX_REQUEST - 2 if bound is None else bound)
    if is_root:
        schema = with_object_meta(schema)
    if schema.type == "array":
        return _declare_list(schema)
    if schema.type == "object":
        return _declare_map(schema) if isinstance(schema.additional_properties, Schema) else _declare_object(schema)
    if schema.type == "string":
        return _declare_string(schema)
    return {"boolean": _BOOL, "number": _DOUBLE, "integer": _INT}.get(schema.type)


def _declare_list(schema: Schema) -> DeclaredType | None:
    items = None if schema.items is None else declare(schema.items, is_root=schema.items.embedded_resource)
    if items is None:
        return None
    # As many of the smallest items as fit into a request, each with a comma.
    count = (MAX_REQUEST - 2) // (items.min_size + 1) if schema.max_items is None else max(schema.max_items, 0)
    return DeclaredType(list_of(items.type), min_size=2, max_elements=count, items=items)


def _declare_map(schema: Schema) -> DeclaredType | None:
    assert isinstance(schema.additional_properties, Schema)
    values = declare(schema.additional_properties, is_root=schema.additional_properties.embedded_resource)
    if values is None:
        return None
    if schema.max_properties is None:
        # An entry has a key in quotes, a colon and a comma at least.
        count = (MAX_REQUEST - 2) // (values.min_size + 6)
    else:
        count = max(schema.max_properties, 0)
    return DeclaredType(map_of(STRING, values.type), min_size=2, max_elements=count, items=values)


def _declare_object(schema: Schema) -> DeclaredType:
    fields: dict[str, DeclaredType] = {}
    min_size = 2
    for name, nested in schema.properties.items():
        declared = declare(nested, is_root=nested.embedded_resource)
        if declared is None:
            continue
        escaped = escape(name)
        # A field without a name in CEL still takes space in a request.
        if escaped is not None:
            fields[escaped] = declared
        if name in schema.required and (not nested.has_default or nested.default is None):
            # Quotes, colon and comma.
            min_size += len(name.encode()) + declared.min_size + 4
    return DeclaredType(_OBJECT, min_size=min_size, fields=fields)


def _declare_string(schema: Schema) -> DeclaredType:
    if schema.format == "byte":
        length = MAX_REQUEST - 2 if schema.max_length is None else max(schema.max_length, 0)
        return DeclaredType(BYTES, min_size=2, max_elements=length)
    if schema.format in _FORMATS:
        type_, smallest, largest = _FORMATS[schema.format]
        return DeclaredType(type_, min_size=smallest, max_elements=largest)
    bound = _bounded_length(schema)
    if bound is None:
        lengths = [len(choice.encode()) if isinstance(choice, str) else 0 for choice in schema.enum]
        bound = max(lengths) if lengths else MAX_REQUEST - 2
    return DeclaredType(STRING, min_size=2, max_elements=bound)


def _bounded_length(schema: Schema) -> int | None:
    """The most bytes of a text: a character may take four."""
    # A character has up to four bytes in UTF-8.
    return None if schema.max_length is None else max(schema.max_length, 0) * 4


# From JSON to values.


def converter(schema: Schema, *, is_root: bool = False) -> Converter:
    """Return what makes CEL values of a schema's JSON; None if they are the same.

    Args:
        schema: The schema.
        is_root: Whether it is a whole object.
    """
    if schema.int_or_string:
        return _to_either
    if schema.type == "object":
        return _object_converter(with_object_meta(schema) if is_root or schema.embedded_resource else schema)
    if schema.type == "array":
        return _list_converter(schema)
    if schema.type == "string":
        return _TEXT_CONVERTERS.get(schema.format, _to_text)
    return _SCALAR_CONVERTERS.get(schema.type)


def _object_converter(schema: Schema) -> Converter:
    # Only a schema without declared fields is a map for rules.
    if not schema.properties and isinstance(schema.additional_properties, Schema):
        convert = _nullable(schema.additional_properties)
        return lambda raw: MapValue(_require(raw, dict), convert)
    fields: dict[str, tuple[str, Converter]] = {}
    for name, nested in schema.properties.items():
        escaped = escape(name)
        if escaped is not None and declare(nested, is_root=nested.embedded_resource) is not None:
            fields[escaped] = (name, converter(nested))
    shape = ObjectShape(fields)
    return lambda raw: ObjectValue(_require(raw, dict), shape)


def _list_converter(schema: Schema) -> Converter:
    convert = None if schema.items is None else _nullable(schema.items)
    if schema.list_type == "map":
        keys = schema.list_map_keys
        return lambda raw: MapListValue(_require(raw, list), convert, keys)
    if schema.list_type == "set":
        return lambda raw: SetValue(_require(raw, list), convert)
    return lambda raw: ListValue(_require(raw, list), convert)


def _nullable(schema: Schema) -> Converter:
    """A converter for items and values, which may be null."""
    convert = converter(schema)
    if convert is None:
        return None

    def convert_or_null(raw: Json) -> Value:
        if raw is None:
            if schema.nullable:
                return None
            # Ratcheting can leave such a null in an object.
            raise EvaluationError("invalid data, got null for schema with nullable=false")
        return convert(raw)

    return convert_or_null


def _require(raw: Json, kind: type) -> Json:
    if isinstance(raw, kind):
        return raw
    expected = "a map for the provided schema with type=object"
    if kind is list:
        expected = "an array for the provided schema with type=array"
    raise EvaluationError(f"invalid data, expected {expected}")


def _type_error(raw: Json, expected: str) -> EvaluationError:
    """Create the error for a value that its schema does not allow; ratcheting lets updates keep such values."""
    kind: type = raw.__class__
    return EvaluationError(f"invalid data, expected {expected}, got {_GO_TYPES.get(kind, 'nil')}")


_GO_TYPES: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def _to_text(raw: Json) -> str:
    if type(raw) is str:
        return raw
    raise _type_error(raw, "string")


def _to_integer(raw: Json) -> int:
    if type(raw) is int:
        return raw
    raise _type_error(raw, "int")


def _to_bool(raw: Json) -> bool:
    if type(raw) is bool:
        return raw
    raise _type_error(raw, "bool")


def _to_double(raw: Json) -> float:
    if type(raw) in {int, float}:
        return float(raw)
    raise _type_error(raw, "float")


def _to_either(raw: Json) -> Value:
    if type(raw) in {int, str}:
        return raw
    raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")


_SCALAR_CONVERTERS: Final[dict[str, Callable[[Json], Value]]] = {
    "integer": _to_integer,
    "number": _to_double,
    "boolean": _to_bool,
}


def _to_bytes(raw: Json) -> bytes:
    raw = _to_text(raw)
    decoded = parse_base64(raw)
    if decoded is None:
        raise EvaluationError(f"Invalid byte formatted string {raw}: illegal base64 data")
    return decoded


_DAY: Final = 24 * 3600 * 10**9
# Units of OpenAPI's durations, in addition to Go's; the last of each may be a plural.
_LONG_UNITS: Final = {
    "ns": 1,
    "nano": 1,
    "us": 10**3,
    "µs": 10**3,
    "micro": 10**3,
    "ms": 10**6,
    "milli": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "hr": 3600 * 10**9,
    "hour": 3600 * 10**9,
    "d": _DAY,
    "day": _DAY,
    "w": 7 * _DAY,
    "wk": 7 * _DAY,
    "week": 7 * _DAY,
}
_PREFIXES: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_LONG_DURATION: Final = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)")


def _to_duration(raw: Json) -> Duration:
    raw = _to_text(raw)
    nanos = parse_duration(raw)
    if nanos is None:
        nanos = _parse_long_duration(raw)
    if nanos is None:
        raise EvaluationError(f"Invalid duration {raw}: unable to parse {raw} as duration")
    return Duration(nanos)


def _parse_long_duration(text: str) -> int | None:
    nanos: int | None = None
    for number, unit in _LONG_DURATION.findall(text):
        name = unit.lower()
        name = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), name)
        # Longer numbers would overflow int64 in Go, which ignores them.
        if name in _LONG_UNITS and len(number) < 19:
            nanos = (nanos or 0) + int(number) * _LONG_UNITS[name]
    return nanos


def _to_date(raw: Json) -> Timestamp:
    raw = _to_text(raw)
    when = parse_timestamp(f"{raw}T00:00:00Z")
    if when is None:
        raise EvaluationError(f"Invalid date formatted string {raw}")
    return when


def _to_timestamp(raw: Json) -> Timestamp:
    raw = _to_text(raw)
    if not raw:
        return Timestamp(0)
    # The server accepts times without a zone, and takes them for UTC.
    when = parse_timestamp(raw) or parse_timestamp(f"{raw}Z")
    if when is None:
        raise EvaluationError(f"Invalid date-time formatted string {raw}")
    return when


_TEXT_CONVERTERS: Final[dict[str, Callable[[Json], Value]]] = {
    "byte": _to_bytes,
    "duration": _to_duration,
    "date": _to_date,
    "date-time": _to_timestamp,
}
