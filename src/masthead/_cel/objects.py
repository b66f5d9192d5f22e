"""Values with a schema: JSON that is converted to CEL values on access."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.values import MISSING, ListLike, MapLike, Value, equals, find, is_list, is_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Converter", "ListValue", "MapListValue", "MapValue", "ObjectShape", "ObjectValue", "SetValue"]

Converter: TypeAlias = "Callable[[Any], Value] | None"
"""Makes a value of plain JSON; None if it is one already."""


class _Computed:
    """A list or map of the expression itself: as an item of a list with a schema, it fits none."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


def unwrap(value: Value) -> Value:
    """Return the plain JSON that a value with a schema is made of; scalars as they are."""
    if isinstance(value, ListValue | MapValue | ObjectValue):
        return value.raw
    return _Computed(value) if isinstance(value, list | dict) else value


class ObjectShape:
    """The fields of objects of one schema.

    Attributes:
        fields: By the name in expressions: the name in JSON, and the converter.
        names: By the name in JSON: the name in expressions.
    """

    __slots__ = ("fields", "names")

    def __init__(self, fields: Mapping[str, tuple[str, Converter]]) -> None:
        self.names = {raw: name for name, (raw, _) in fields.items()}
        # A field whose name is a keyword is found by either name: ``self.namespace``, ``self.__namespace__``.
        plain = {field[0]: field for name, field in fields.items() if name == f"__{field[0]}__"}
        self.fields = {**plain, **fields}


class ObjectValue(MapLike):
    """An object with known fields. A field that is null counts as missing."""

    __slots__ = ("raw", "shape")

    def __init__(self, raw: dict[str, Any], shape: ObjectShape) -> None:
        self.raw = raw
        self.shape = shape

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Value]:
        names = self.shape.names
        return iter([names[key] for key in self.raw if key in names])

    def find(self, key: Value) -> Value:
        """Return the value of a field; `MISSING` if it is not set.

        Raises:
            EvaluationError: If the key is not a string, or the value does not match the schema.
        """
        if type(key) is not str:
            raise EvaluationError(NO_OVERLOAD)
        field = self.shape.fields.get(key)
        if field is None:
            return MISSING
        value = self.raw.get(field[0])
        # As for ``has()``, a null field is absent.
        if value is None:
            return MISSING
        convert = field[1]
        return value if convert is None else convert(value)

    def equals(self, other: Value) -> bool:
        """Whether the other is a map with equal fields; fields without a schema are compared as JSON.

        Raises:
            EvaluationError: If the other is no map.
        """
        if not is_map(other):
            raise EvaluationError(NO_OVERLOAD)
        if len(self) != len(other):
            return False
        return all(self._equal_fields(raw, other) for raw in self.raw)

    def _equal_fields(self, raw: str, other: Value) -> bool:
        name = self.shape.names.get(raw)
        # A field that rules cannot see is compared as plain JSON.
        if name is None:
            if not isinstance(other, ObjectValue):
                raise EvaluationError(NO_OVERLOAD)
            return raw not in other.raw or bool(self.raw[raw] == other.raw[raw])
        mine, theirs = self.find(name), find(other, name)
        if mine is MISSING or theirs is MISSING:
            return mine is theirs
        return equals(mine, theirs)


class MapValue(MapLike):
    """A map from strings to values of one schema."""

    __slots__ = ("_convert", "raw")

    def __init__(self, raw: dict[str, Any], convert: Converter) -> None:
        self.raw = raw
        self._convert = convert

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.raw)

    def find(self, key: Value) -> Value:
        """Return the value of a key; `MISSING` if the map lacks it.

        Raises:
            EvaluationError: If the key is not a string, or the value does not match the schema.
        """
        if type(key) is not str:
            raise EvaluationError(NO_OVERLOAD)
        value = self.raw.get(key, MISSING)
        return value if value is MISSING or self._convert is None else self._convert(value)

    def equals(self, other: Value) -> bool:
        """Whether the other is a map with the same keys and equal values.

        Raises:
            EvaluationError: If the other is no map.
        """
        if not is_map(other):
            raise EvaluationError(NO_OVERLOAD)
        if len(self) != len(other):
            return False
        for key in self.raw:
            theirs = find(other, key)
            if theirs is MISSING or not equals(self.find(key), theirs):
                return False
        return True


class ListValue(ListLike):
    """A list of items of one schema."""

    __slots__ = ("_convert", "raw")

    def __init__(self, raw: list[Any], convert: Converter) -> None:
        self.raw = raw
        self._convert = convert

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, index: int) -> Value:
        value = self.raw[index]
        return value if self._convert is None else self._convert(value)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.raw) if self._convert is None else map(self._convert, self.raw)

    def equals(self, other: Value) -> bool:
        """Whether the other is a list of equal items in the same order.

        Raises:
            EvaluationError: If the other is no list.
        """
        _require_list(other)
        return len(self) == len(other) and all(map(equals, self, other))

    def plus(self, other: Value) -> Value:
        """Return a list of this one's items, and behind them another's.

        Raises:
            EvaluationError: If the other is no list.
        """
        _require_list(other)
        # Raw values, because the converter of the result applies to all items.
        return ListValue([*self.raw, *map(unwrap, other)], self._convert)


class SetValue(ListValue):
    """A list of type ``set``: its order does not matter."""

    __slots__ = ()

    def equals(self, other: Value) -> bool:
        """Whether the other is a list with the same items.

        Raises:
            EvaluationError: If the other is no list.
        """
        _require_list(other)
        # The order of a set does not matter.
        mine = {_hashable(item) for item in self.raw}
        return len(self) == len(other) and all(_hashable(unwrap(item)) in mine for item in other)

    def plus(self, other: Value) -> Value:
        """Return the union: items that are new stand behind.

        Raises:
            EvaluationError: If the other is no list.
        """
        _require_list(other)
        union = {_hashable(item): item for item in self.raw}
        for item in map(unwrap, other):
            union.setdefault(_hashable(item), item)
        return SetValue(list(union.values()), self._convert)


class MapListValue(ListValue):
    """A list of type ``map``: some fields of its items are keys, and its order does not matter."""

    __slots__ = ("_keys",)

    def __init__(self, raw: list[Any], convert: Converter, keys: tuple[str, ...]) -> None:
        super().__init__(raw, convert)
        self._keys = keys

    def _key(self, item: Value) -> object:
        # Items that are no objects have no key; each is its own.
        if item.__class__ is _Computed:
            item = item.value
        if item.__class__ is not dict:
            return id(item)
        return tuple(_hashable(item.get(key)) for key in self._keys)

    def equals(self, other: Value) -> bool:
        """Whether the other is a list with the same keys, and equal items for them.

        Raises:
            EvaluationError: If the other is no list.
        """
        _require_list(other)
        if len(self) != len(other):
            return False
        mine = {self._key(raw): item for raw, item in zip(self.raw, self, strict=True)}
        for item in other:
            found = mine.get(self._key(unwrap(item)), MISSING)
            if found is MISSING or not equals(found, item):
                return False
        return True

    def plus(self, other: Value) -> Value:
        """Return the union: an item of the other list replaces one with the same keys.

        Raises:
            EvaluationError: If the other is no list.
        """
        _require_list(other)
        union = {self._key(item): item for item in self.raw}
        for item in map(unwrap, other):
            # An item with a known key replaces the old one in its position.
            union[self._key(item)] = item
        return MapListValue(list(union.values()), self._convert, self._keys)


def _require_list(value: Value) -> None:
    if not is_list(value):
        raise EvaluationError(NO_OVERLOAD)


def _hashable(raw: Value) -> object:
    """A key for plain JSON: equal for equal values of the same type."""
    kind: type = raw.__class__
    if kind is dict:
        return (_OBJECT, frozenset((key, _hashable(value)) for key, value in raw.items()))
    if kind is list:
        return (_LIST, tuple(map(_hashable, raw)))
    # With the type: True and 1 are different values.
    return (kind, raw)


_OBJECT: Final = object()
_LIST: Final = object()
