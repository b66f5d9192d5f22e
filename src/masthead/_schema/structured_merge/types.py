"""Merge types: how values merge, compiled from the schema of a kind when they are first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._schema.schema import Definitions, Json

__all__ = [
    "DEDUCED",
    "Form",
    "ListType",
    "MapType",
    "MergeType",
    "MergeTypes",
    "Notation",
    "Scalar",
    "merge_type_of",
]

Scalar: TypeAlias = Literal["string", "numeric", "boolean", "untyped"]
"""What a scalar may be; ``untyped`` is any."""
Notation: TypeAlias = Literal["", "quantity", "time", "micro-time", "bytes"]
"""The notation of a scalar whose values have several spellings; empty if each value has one."""
_SCALARS: Final[Mapping[str, Scalar]] = {
    "integer": "numeric",
    "number": "numeric",
    "string": "string",
    "boolean": "boolean",
}
_PLAIN_STRINGS: Final = frozenset({"", "byte"})
"""The formats of strings that are nothing but strings."""
_MERGED: Final = frozenset({"merge", "merge,retainKeys"})
_NOTATIONS: Final[Mapping[str, Notation]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
}
"""The notations of types that are scalars in JSON."""
_RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"


class MapType:
    """The type of a struct or map.

    Attributes:
        is_atomic: Whether it is owned as a whole.
        is_deduced: Whether it declares nothing, so that its types follow from the values.
    """

    __slots__ = ("_fields", "_keeps_unknown", "_properties", "_types", "_values", "is_atomic", "is_deduced")

    def __init__(
        self,
        types: MergeTypes,
        properties: Mapping[str, Schema],
        values: MergeType | Schema | None,
        *,
        is_atomic: bool,
        keeps_unknown: bool = False,
    ) -> None:
        self._types = types
        self._properties = properties
        self._values = values
        self._fields: dict[str, MergeType] = {}
        self.is_atomic = is_atomic
        self.is_deduced = not properties and (values.is_deduced if isinstance(values, MergeType) else _is_any(values))
        self._keeps_unknown = keeps_unknown

    @property
    def is_struct(self) -> bool:
        """Whether it declares fields; a map does not."""
        return bool(self._properties)

    def declares(self, name: str) -> bool:
        """Tell whether it is a struct with this field; entries of maps are not declared."""
        return name in self._properties

    def default_of(self, name: str) -> Json:
        """Return the default of a field; None if it has none."""
        field = self._properties.get(name)
        return field.default if field is not None and field.has_default else None

    def type_of(self, name: str) -> MergeType | None:
        """Return the type of a field or entry; None if the schema does not allow it."""
        found = self._fields.get(name)
        if found is None:
            field = self._properties.get(name)
            if field is None:
                return self.values
            # Compiled on first use: an object has a few of the fields that its type declares.
            found = self._fields[name] = self._types.of(field, keeps_unknown=self._keeps_unknown)
        return found

    @property
    def values(self) -> MergeType | None:
        """The type of undeclared fields and of map entries; None if the schema allows none."""
        values = self._values  # Read once: another thread may replace the schema meanwhile.
        if isinstance(values, Schema):
            # The compiled type replaces the schema.
            values = self._values = self._types.of(values, keeps_unknown=self._keeps_unknown)
        return values

    def as_atomic(self, *, is_atomic: bool) -> MapType:
        """Return the same type, owned as a whole or not."""
        return MapType(
            self._types,
            self._properties,
            self._values,
            is_atomic=is_atomic,
            keeps_unknown=self._keeps_unknown,
        )


class ListType:
    """The type of a list.

    Attributes:
        is_atomic: Whether it is owned as a whole.
        keys: The fields that identify an item; a list that is neither atomic nor has keys is a set.
    """

    __slots__ = ("_items", "_keeps_unknown", "_types", "is_atomic", "keys")

    def __init__(
        self,
        types: MergeTypes,
        items: MergeType | Schema,
        *,
        is_atomic: bool,
        keys: tuple[str, ...] = (),
        keeps_unknown: bool = False,
    ) -> None:
        self._types = types
        self._items = items
        self._keeps_unknown = keeps_unknown
        self.is_atomic = is_atomic
        self.keys = keys

    @property
    def items(self) -> MergeType:
        """The type of the items."""
        items = self._items  # Read once: another thread may replace the schema meanwhile.
        if isinstance(items, Schema):
            items = self._items = self._types.of(items, keeps_unknown=self._keeps_unknown)
        return items


Form: TypeAlias = MapType | ListType | None
"""The form of a value: map, list, or scalar (None)."""


class MergeType:
    """The type of a value: a scalar, a list or a map, or several of them.

    Attributes:
        scalar: What it may be as a scalar; None if it is never one.
        list_type: Its type as a list.
        map_type: Its type as a struct or map.
        notation: Its notation as a scalar.
    """

    __slots__ = ("list_type", "map_type", "notation", "scalar")

    def __init__(
        self,
        scalar: Scalar | None = None,
        *,
        list_type: ListType | None = None,
        map_type: MapType | None = None,
        notation: Notation = "",
    ) -> None:
        self.scalar: Scalar | None = scalar
        self.notation: Notation = notation
        self.list_type = list_type
        self.map_type = map_type

    @property
    def is_deduced(self) -> bool:
        """Whether it declares nothing, and its maps are merged."""
        return self.scalar == "untyped" and self.map_type is not None and self.map_type.is_deduced

    def form(self, value: Json) -> Form:
        """Return the form of a value. For a value of no form, such as null, return the first form of the type."""
        if value.__class__ is dict:
            if self.map_type is not None:
                return self.map_type
        elif value.__class__ is list:
            if self.list_type is not None:
                return self.list_type
        elif value is not None and self.scalar is not None:
            return None
        return self.map_type or (None if self.scalar is not None else self.list_type)


class MergeTypes:
    """The merge types of schemas that refer to each other.

    Args:
        definitions: The schemas that references name.
    """

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._named: dict[str, MergeType] = {}

    def of(self, schema: Schema, *, keeps_unknown: bool = False) -> MergeType:
        """Return the merge type of a schema.

        Args:
            schema: The schema.
            keeps_unknown: Whether a parent schema preserves unknown fields.
        """
        if name := schema.target:
            found = self.named(name)
            # A reference may override the map type of its target.
            if schema.map_type and found.map_type is not None:
                is_atomic = schema.map_type == "atomic"
                return MergeType(
                    found.scalar,
                    list_type=found.list_type,
                    map_type=found.map_type.as_atomic(is_atomic=is_atomic),
                )
            return found
        return self._compile(schema, keeps_unknown=keeps_unknown or bool(schema.preserve_unknown))

    def named(self, name: str) -> MergeType:
        """Return the merge type of the schema of a full name; it is compiled once."""
        found = self._named.get(name)
        if found is None:
            if name in _NOTATIONS:
                # Their schemas say string or number, but texts of equal meaning must compare as equal.
                found = MergeType("untyped", notation=_NOTATIONS[name])
            elif name == _RAW_EXTENSION:
                # Raw JSON is owned as a whole.
                found = UNTYPED
            else:
                schema = self._definitions.get(name)
                # An unknown reference is deduced from the value, as for an object without a schema.
                found = DEDUCED if schema is None else self.of(schema)
            self._named[name] = found
        return found

    def _compile(self, schema: Schema, *, keeps_unknown: bool) -> MergeType:
        if schema.type == "object":
            return MergeType(map_type=self._map(schema, keeps_unknown=keeps_unknown))
        if schema.type == "array":
            return MergeType(list_type=self._list(schema, keeps_unknown=keeps_unknown))
        # Any type: the value decides which of the three applies.
        if not schema.type:
            return MergeType(
                "untyped",
                list_type=self._list(schema, keeps_unknown=keeps_unknown),
                map_type=self._map(schema, keeps_unknown=keeps_unknown),
            )
        scalar: Scalar = _SCALARS.get(schema.type, "untyped")
        # Other formats, such as int-or-string, allow numbers as well.
        is_other = scalar == "string" and schema.format not in _PLAIN_STRINGS
        notation: Notation = "bytes" if schema.format == "byte" else ""
        return MergeType("untyped" if is_other else scalar, notation=notation)

    def _map(self, schema: Schema, *, keeps_unknown: bool) -> MapType:
        values: MergeType | Schema | None
        match schema.additional_properties:
            case None:
                # An object that declares no fields at all is free-form.
                values = DEDUCED if keeps_unknown or not schema.properties else None
            case Schema() as declared:
                values = declared
            case allowed:
                values = DEDUCED if allowed else None
        return MapType(
            self,
            schema.properties,
            values,
            is_atomic=schema.map_type == "atomic",
            keeps_unknown=keeps_unknown,
        )

    def _list(self, schema: Schema, *, keeps_unknown: bool) -> ListType:
        is_atomic, keys = _relationship(schema)
        items = schema.items if schema.items is not None else UNTYPED
        return ListType(self, items, is_atomic=is_atomic, keys=keys, keeps_unknown=keeps_unknown)


def _is_any(schema: Schema | None) -> bool:
    """Whether a schema that is no reference allows any scalar."""
    if schema is None or schema.target:
        return False
    return not schema.type or (schema.type == "string" and schema.format not in _PLAIN_STRINGS)


def _relationship(schema: Schema) -> tuple[bool, tuple[str, ...]]:
    """Whether a list is atomic, and its keys. Without a list type, the patch strategy decides."""
    if schema.list_type:
        return schema.list_type == "atomic", schema.list_map_keys if schema.list_type == "map" else ()
    # Older built-in types state only how strategic merge patches treat the list.
    if schema.patch_strategy in _MERGED:
        return False, (schema.patch_merge_key,) if schema.patch_merge_key else ()
    return True, ()


def merge_type_of(schema: Schema, definitions: Definitions) -> MergeType:
    """Return the merge type of a schema; keep a `MergeTypes` for several that refer to the same definitions."""
    return MergeTypes(definitions).of(schema)


def _untyped() -> MergeType:
    """The type of values without a schema that are owned as a whole."""
    # It needs no definitions: the type refers only to itself.
    types = MergeTypes.__new__(MergeTypes)
    found = MergeType("untyped")
    found.list_type = ListType(types, found, is_atomic=True)
    found.map_type = MapType(types, {}, found, is_atomic=True)
    return found


def _deduced() -> MergeType:
    """The type of values without a schema: maps are merged, lists are owned as a whole."""
    types = MergeTypes.__new__(MergeTypes)
    found = MergeType("untyped")
    found.list_type = ListType(types, UNTYPED, is_atomic=True)
    found.map_type = MapType(types, {}, found, is_atomic=False)
    found.map_type.is_deduced = True
    return found


UNTYPED: Final = _untyped()
DEDUCED: Final = _deduced()
