"""The decoder of a built-in kind: the normal form of its objects, as Go's structs make it.

kube-apiserver decodes a body into a Go struct and encodes it again. That drops values without a place in the struct:
unknown fields, nulls, empty lists, zeros of optional fields that are no pointers. It adds fields that Go cannot omit,
such as ``"status": {}``, and canonicalizes quantities and times. `GoDecoder.clean` does the same to plain data. The
fields come from the generated types and their schemas, Go's types from `go_types`. The decoder reports dropped fields,
and values of the wrong type with Go's messages.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._meta import shape
from masthead._meta.quantity import Quantity
from masthead._meta.time import MicroTime
from masthead._schema.schema import Schema
from masthead_server.resources import go_types
from masthead_server.resources.go_values import (
    ANYTHING,
    MICRO_TIME_TEXT,
    TIME_TEXT,
    ByteString,
    Decoding,
    Integer,
    IntOrString,
    Mismatch,
    NumberLiteral,
    QuantityText,
    Scalar,
    TypeMismatch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.apitype import ApiType
    from masthead_server.resources.go_types import GoField
    from masthead_server.resources.go_values import GoValue
    from masthead_server.wire.plain import Plain

__all__ = ["GoDecoder", "GoList", "GoMap", "GoStruct", "Mismatch", "decoder_of"]

_API: Final = "masthead.api."
_TYPE_META: Final = ("apiVersion", "kind")
_NO_FACTS: Final = go_types.GoField()
_FREE_FORM: Final = frozenset({"v1.FieldsV1", "v1.JSON"})
_INT32: Final = Integer("int32", 32)
_INT64: Final = Integer("int64", 64)
_STRING: Final = Scalar("string", (str,), "")


class GoList:
    """A list.

    Args:
        item: The type of its items.
        go_type: Its own type in Go, if it has a name.
    """

    zero = None

    def __init__(self, item: GoValue, go_type: str = "") -> None:
        self.item = item
        self.go_type = go_type or f"[]{item.go_type}"
        self._simple = item.simple if isinstance(item, Scalar) else None
        self._has_structs = isinstance(item, GoStruct)

    def clean(self, value: object, decoding: Decoding, owner: str) -> list[Any]:
        """Clean every item; null is the zero value of its type."""
        if not isinstance(value, list):
            if value is not None:
                decoding.add_mismatch(value, owner, self.go_type)
            return []
        listed = cast("list[object]", value)
        decoding.add_items(len(listed), are_structs=self._has_structs)
        if self._simple is not None and all(type(item) is self._simple for item in listed):
            return listed[:]
        cleaned: list[Any] = []
        path, clean = decoding.path, self.item.clean
        for index, entry in enumerate(listed):
            path.append(f"[{index}]")
            cleaned.append(clean(entry, decoding, owner))
            path.pop()
        return cleaned


class GoMap:
    """A map from strings to values of one type.

    Args:
        item: The type of its values.
        go_type: Its own type in Go, if it is not a plain map of strings.
    """

    zero = None

    def __init__(self, item: GoValue, go_type: str = "") -> None:
        self.item = item
        self.go_type = go_type or f"map[string]{item.go_type}"
        self._simple = item.simple if isinstance(item, Scalar) else None

    def clean(self, value: object, decoding: Decoding, owner: str) -> dict[str, Any]:
        """Clean every value; null is the zero value of its type."""
        if not isinstance(value, dict):
            if value is not None:
                decoding.add_mismatch(value, owner, self.go_type)
            return {}
        mapped = cast("dict[str, object]", value)
        # In C, because every label and annotation comes here.
        if self._simple is not None and {self._simple}.issuperset(map(type, mapped.values())):
            return mapped.copy()
        cleaned: dict[str, Any] = {}
        path, clean = decoding.path, self.item.clean
        for key, nested in mapped.items():
            path.append(f"{{{key}")
            cleaned[key] = clean(nested, decoding, owner)
            path.pop()
        return cleaned


class GoStruct:
    """A type of the API; its fields are looked up when the first value comes, because types may nest in themselves.

    Args:
        cls: Its generated class.
        is_body: Whether it is the object itself, whose kind, version and metadata are not its decoder's business.
    """

    zero = None

    def __init__(self, cls: ApiType, *, is_body: bool = False) -> None:
        self.name = cls.__name__
        self._cls = cls
        self._is_body = is_body
        self._package = _package_of(cls)
        self.go_type = f"{self._package.rpartition('.')[2]}.{self.name}"

    @functools.cached_property
    def fields(self) -> Mapping[str, GoValue]:
        """The types of the fields, by their names in JSON."""
        found = {
            wire: _value_of(field.shape, self._facts(wire).type, _integer_of(self._schemas.get(wire)))
            for wire, field in shape.fields_of(self._cls).items()
        }
        # Their classes allow one value only; Go takes any string.
        return found | dict.fromkeys(_TYPE_META, _STRING) if self._is_object else found

    @functools.cached_property
    def steps(self) -> Mapping[str, str]:
        """The step to each field in the path of a decoding."""
        return {wire: f"<{self._facts(wire).embedded}>.{wire}".removeprefix("<>") for wire in self.fields}

    @functools.cached_property
    def _table(self) -> Mapping[str, GoField]:
        table = go_types.fields_of(self._package, self.name)
        if not self._is_object:
            return table
        in_type_meta = {wire: go_types.GoField(is_omitted=True, embedded="TypeMeta") for wire in _TYPE_META}
        return {**table, **in_type_meta}

    def is_set_to_null(self, wire: str) -> bool:
        """Whether null changes a field that is set: a list, map or pointer, and no scalar or struct."""
        value = self.fields[wire]
        if isinstance(value, Scalar | Integer):
            return self._facts(wire).is_pointer
        return not isinstance(value, GoStruct) or self._is_omitted(wire)

    def _facts(self, wire: str) -> GoField:
        return self._table.get(wire, _NO_FACTS)

    @property
    def _is_object(self) -> bool:
        """Whether it has a kind and a version, as an object or a template of one has."""
        return {*_TYPE_META, "metadata"} <= shape.fields_of(self._cls).keys()

    @functools.cached_property
    def _simple(self) -> Mapping[str, type]:
        """The fields whose values are taken as they are if they are of this type."""
        scalars = ((wire, value) for wire, value in self.fields.items() if isinstance(value, Scalar))
        return {wire: scalar.simple for wire, scalar in scalars if scalar.simple is not None}

    @functools.cached_property
    def _always(self) -> tuple[tuple[str, object], ...]:
        """What Go writes even if it is not set, with its zero value."""
        found: list[tuple[str, object]] = []
        for wire, value in self.fields.items():
            if self._is_omitted(wire) or (self._is_body and wire == "metadata"):
                continue
            is_null = self._facts(wire).is_pointer
            # A struct has no constant zero: it has the zeros of its fields.
            found.append((wire, None if is_null else value if isinstance(value, GoStruct) else value.zero))
        return tuple(found)

    @functools.cached_property
    def _omissible(self) -> frozenset[str]:
        """What Go leaves out when it is empty or zero, or writes as null: not pointers, and not structs."""
        return frozenset(
            wire
            for wire, value in self.fields.items()
            if (isinstance(value, GoList | GoMap) and not self._facts(wire).is_kept)
            or (
                isinstance(value, Scalar | Integer | ByteString)
                and self._is_omitted(wire)
                and not self._facts(wire).is_pointer
            )
        )

    def _is_omitted(self, wire: str) -> bool:
        is_omitted = self._facts(wire).is_omitted
        if is_omitted is not None:
            return is_omitted
        # The default of a field that Go always writes is its zero value; the server sets all other defaults.
        schema = self._schemas[wire]
        return not schema.has_default or bool(schema.default)

    @functools.cached_property
    def _schemas(self) -> Mapping[str, Schema]:
        """The schemas of the fields."""
        from masthead._schema.builtin.definitions import DEFINITIONS, name_of

        try:
            return DEFINITIONS.require(name_of(self._cls)).properties
        except KeyError:  # a class of a custom resource
            from masthead._schema.classes import schema_of_class

            return schema_of_class(self._cls, lambda cls: cls.__name__).properties

    def clean(self, value: object, decoding: Decoding, owner: str) -> Plain:
        """Clean every field, and add the zero values that Go writes for unset fields."""
        if not isinstance(value, dict):
            if value is not None:
                decoding.add_mismatch(value, owner, self.go_type)
            value = {}
        fields, simple, dropped = self.fields, self._simple, self._omissible
        steps, path, name = self.steps, decoding.path, self.name
        cleaned: Plain = {}
        for key, item in cast("dict[str, object]", value).items():
            # Most fields are strings and flags, with nothing to be done about them but to keep them.
            if type(item) is simple.get(key):
                if item or key not in dropped:
                    cleaned[key] = item
                continue
            field = fields.get(key)
            if field is None:
                decoding.add_unknown(key)
            elif item is not None:
                path.append(steps[key])
                made = field.clean(item, decoding, name)
                path.pop()
                # After cleaning: a list of nulls, say, may have become empty.
                if made or key not in dropped:
                    cleaned[key] = made
        for key, zero in self._always:
            if key not in cleaned:
                cleaned[key] = zero.clean({}, decoding, name) if isinstance(zero, GoStruct) else zero
        return cleaned


class _JSONSchemaOr:
    """A schema in a schema, or an alternative type.

    Args:
        go_type: Its type in Go.
        cls: The class of schemas.
        others: The alternative type, if any; other values become null.
    """

    zero = None

    def __init__(self, go_type: str, cls: ApiType, others: GoValue | None) -> None:
        self.go_type = go_type
        self._schema = _struct(cls)
        self._others = others

    def clean(self, value: object, decoding: Decoding, owner: str) -> object:
        """Clean a schema, or a value of the alternative type."""
        if isinstance(value, dict):
            return self._decode_nested(self._schema, cast("object", value), decoding, owner)
        if isinstance(value, list) and self._others is not None:
            return self._decode_nested(self._others, cast("object", value), decoding, owner) or None
        if self._others is None:
            if not isinstance(value, bool):
                # additionalProperties, which is the only field of this type without lists.
                raise Mismatch("boolean or JSON schema expected")
            return value
        return None

    @staticmethod
    def _decode_nested(inner: GoValue, value: object, decoding: Decoding, owner: str) -> object:
        # Go decodes it separately: it is not strict there, and an error is one of the outer struct.
        nested = decoding.nested()
        cleaned: object = inner.clean(value, nested, owner)
        if isinstance(nested.mismatch, TypeMismatch):
            raise Mismatch(str(nested.mismatch._replace(owner=owner)))
        return cleaned


class GoDecoder:
    """The decoder of one kind.

    Args:
        cls: Its generated class.
    """

    def __init__(self, cls: ApiType) -> None:
        self.root = GoStruct(cls, is_body=True)

    def clean(self, body: Plain) -> tuple[Plain, list[str]]:
        """Return the object as the server keeps it, without kind and version, and the paths of unknown fields.

        Raises:
            Mismatch: If a value is not of its field's type.
        """
        decoding = Decoding()
        # The request has checked kind and apiVersion, and the stored object has neither.
        rest = {key: value for key, value in body.items() if key not in _TYPE_META}
        cleaned = self.root.clean(rest, decoding, "")
        if decoding.mismatch:
            raise Mismatch(str(decoding.mismatch))
        return cleaned, decoding.unknown

    def blank(self, name: str) -> Plain:
        """What a part of the object looks like when nothing in it is set."""
        field = self.root.fields.get(name)
        return field.clean({}, Decoding(), "") if isinstance(field, GoStruct) else {}


@functools.cache
def decoder_of(cls: ApiType) -> GoDecoder:
    """The decoder of a kind, made once."""
    return GoDecoder(cls)


@functools.cache
def _struct(cls: ApiType) -> GoStruct:
    return GoStruct(cls)


def _package_of(cls: ApiType) -> str:
    """The group and version of Go's package; a type that no module of `masthead.api` defines is one of meta's."""
    defined_in = str(cls.module_globals["__name__"])
    return defined_in.removeprefix(_API) if defined_in.startswith(_API) else "meta.v1"


def _integer_of(schema: Schema | None) -> Integer:
    """The type of the integers in a field; only those of Kubernetes' own types may be narrower than 64 bits."""
    # The format of a list or map is that of its innermost items.
    while schema is not None and not schema.format:
        inner = schema.additional_properties
        schema = schema.items or (inner if isinstance(inner, Schema) else None)
    return _INT32 if schema is not None and schema.format == "int32" else _INT64


def _value_of(described: shape.Shape, go_type: str, integer: Integer) -> GoValue:
    """Return the type of a value.

    Args:
        described: The type in the generated class.
        go_type: Its type in Go, if the class does not suggest it.
        integer: The type of the integers in it.
    """
    if go_type in _FREE_FORM:
        return ANYTHING
    match described:
        case shape.StructShape():
            return _struct(described.cls)
        case shape.ListShape():
            inner = go_type.removeprefix("[]") if go_type.startswith("[]") else ""
            return GoList(_value_of(described.item, inner, integer), go_type)
        case shape.MapShape():
            inner = go_type.partition("]")[2] if go_type.startswith("map[") else ""
            return GoMap(_value_of(described.value, inner, integer), go_type)
        case shape.NullableShape():
            return _value_of(described.shape, go_type, integer)
        case shape.ScalarShape():
            return _scalar_of(described, go_type, integer)
        case shape.UnionShape():
            return _union_of(described, go_type)
        case _:
            return ANYTHING


def _union_of(described: shape.UnionShape, go_type: str) -> GoValue:
    """The schemas in schemas are the only unions that have a struct in them."""
    cls = next(candidate.cls for candidate in described.shapes if isinstance(candidate, shape.StructShape))
    lists = [
        _value_of(list_shape, "", _INT64) for list_shape in described.shapes if isinstance(list_shape, shape.ListShape)
    ]
    return _JSONSchemaOr(go_type, cls, lists[0] if lists else None)


def _scalar_of(described: shape.ScalarShape, go_type: str, integer: Integer) -> GoValue:
    for members, make in _SCALARS:
        if all(member in described.exact for member in members):
            return make(go_type)
    # An aware datetime is annotated, and so is never among the types that are taken as they are.
    return integer if int in described.exact else TIME_TEXT


_SCALARS: Final[tuple[tuple[tuple[type, ...], Callable[[str], GoValue]], ...]] = (
    ((Quantity,), lambda _: QuantityText()),
    ((MicroTime,), lambda _: MICRO_TIME_TEXT),
    ((bytes,), lambda _: ByteString()),
    ((int, str), lambda _: IntOrString()),
    ((str,), lambda go_type: Scalar(go_type or "string", (str,), "")),
    ((bool,), lambda go_type: Scalar(go_type or "bool", (bool,), False)),
    ((float,), lambda go_type: Scalar(go_type or "float64", (int, float, NumberLiteral), 0)),
)
