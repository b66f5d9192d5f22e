"""Values: what expressions evaluate to, and when they are equal or ordered.

Most are Python's own: bool, int, float, str, bytes, None, list and dict. An unsigned number is a `Uint`. Values with a
schema are wrapped (`objects`), and converted where an expression looks.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from masthead._cel.errors import NO_OVERLOAD, EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "MAX_INT",
    "MAX_UINT",
    "MIN_INT",
    "MISSING",
    "NONE",
    "Duration",
    "ListLike",
    "MapLike",
    "Opaque",
    "OptionalValue",
    "Timestamp",
    "TypeValue",
    "Uint",
    "Value",
    "compare",
    "equals",
    "find",
    "is_list",
    "is_map",
    "is_number",
    "size_of",
    "type_name",
]

Value: TypeAlias = Any
"""A value of an expression: any of the types that this module describes."""

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1
MISSING: Final = object()
"""What `find` returns if there is no such key."""

_MIN_SECONDS: Final = -62_135_596_800
_MAX_SECONDS: Final = 253_402_300_799
_NANOS: Final = 10**9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Uint(int):
    """An unsigned number."""

    __slots__ = ()


class Duration:
    """A span of time, in nanoseconds.

    Raises:
        EvaluationError: If it overflows.
    """

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        # Go's durations are int64 nanoseconds.
        if not MIN_INT <= nanos <= MAX_INT:
            raise EvaluationError("integer overflow")
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        # Go prints the seconds as a float64 with as many digits as it needs, and no exponent.
        whole, rest = divmod(abs(self.nanos), _NANOS)
        seconds = float(whole) + rest / _NANOS
        text = format(Decimal(repr(seconds)), "f").removesuffix(".0")
        return f"{'-' if self.nanos < 0 else ''}{text}s"


class Timestamp:
    """A point in time.

    Attributes:
        seconds: The seconds since 1970, in UTC.
        nanos: The nanoseconds of the second.
        offset: The seconds east of UTC in which it was written.

    Raises:
        EvaluationError: If the year is not one of 1 to 9999.
    """

    __slots__ = ("nanos", "offset", "seconds")

    def __init__(self, seconds: int, nanos: int = 0, offset: int = 0) -> None:
        # The range of protobuf: the years 1 to 9999.
        if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
            raise EvaluationError("timestamp overflow")
        self.seconds = seconds
        self.nanos = nanos
        self.offset = offset

    def plus(self, nanos: int) -> Timestamp:
        """Return the point in time this many nanoseconds later.

        Raises:
            EvaluationError: If the year is not one of 1 to 9999.
        """
        seconds, rest = divmod(self.seconds * _NANOS + self.nanos + nanos, _NANOS)
        return Timestamp(seconds, rest, self.offset)

    def minus(self, other: Timestamp) -> Duration:
        """Return the span of time since another point.

        Raises:
            EvaluationError: If it overflows.
        """
        return Duration((self.seconds - other.seconds) * _NANOS + self.nanos - other.nanos)

    def date(self, offset: int | None = None) -> datetime:
        """Return date and time of day, some seconds east of UTC; to the second."""
        east = self.offset if offset is None else offset
        # Not by datetime's own zones: their sum may lie outside of its years.
        return (_EPOCH + timedelta(seconds=self.seconds)).replace(tzinfo=None) + timedelta(seconds=east)

    @property
    def key(self) -> tuple[int, int]:
        """What it is ordered by."""
        return self.seconds, self.nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        when = self.date()
        text = f"{when.year:04}-{when:%m-%dT%H:%M:%S}"
        if self.nanos:
            text += f".{self.nanos:09}".rstrip("0")
        if not self.offset:
            return f"{text}Z"
        hours, minutes = divmod(abs(self.offset) // 60, 60)
        return f"{text}{'-' if self.offset < 0 else '+'}{hours:02}:{minutes:02}"


class TypeValue:
    """A type as a value: ``type(self.port) == int``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


class OptionalValue:
    """A value that may be missing: `MISSING`."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return self.value is not MISSING

    def __str__(self) -> str:
        return f"optional({self.value})" if self.has_value else "optional.none()"


NONE: Final = OptionalValue(MISSING)
"""The optional value that is missing."""


class ListLike:
    """A list that is no Python list. It has a length, an order, and items."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: int) -> Value:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Value]:
        raise NotImplementedError

    def equals(self, other: Value) -> bool:
        """Whether it is equal to another value."""
        raise NotImplementedError

    def plus(self, other: Value) -> Value:
        """Return it with the items of another list behind its own."""
        raise NotImplementedError


class MapLike:
    """A map or object that is no Python dict. It has a size and keys."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Value]:
        raise NotImplementedError

    def find(self, key: Value) -> Value:
        """Return the value of a key; `MISSING` if the map lacks it."""
        raise NotImplementedError

    def equals(self, other: Value) -> bool:
        """Whether it is equal to another value."""
        raise NotImplementedError


class Opaque:
    """A value of a library, such as an IP address.

    Attributes:
        type_name: The name of its type.
    """

    __slots__ = ()

    type_name: str = ""

    def equals(self, other: Value) -> bool:
        """Whether it is equal to another value.

        Raises:
            EvaluationError: If the other value has another type.
        """
        raise NotImplementedError


_TYPE_NAMES: Final = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeValue: "type",
    OptionalValue: "optional_type",
}
_SIZED: Final[frozenset[type]] = frozenset({str, bytes, list, dict})
_NUMBERS: Final = frozenset({int, Uint, float})
_PLAIN: Final = frozenset({bool, int, Uint, float, str, bytes})


def type_name(value: Value) -> str:
    """Return the name of a value's type."""
    kind: type = value.__class__
    name = _TYPE_NAMES.get(kind)
    if name is not None:
        return name
    if isinstance(value, ListLike):
        return "list"
    return "map" if isinstance(value, MapLike) else str(value.type_name)


def is_list(value: Value) -> bool:
    """Whether a value is a list."""
    return type(value) is list or isinstance(value, ListLike)


def is_map(value: Value) -> bool:
    """Whether a value is a map or an object."""
    return type(value) is dict or isinstance(value, MapLike)


def is_number(value: Value) -> bool:
    """Whether a value is a number."""
    return type(value) in _NUMBERS


def find(container: Value, key: Value) -> Value:
    """Return the value of a key in a map; `MISSING` if the map lacks it."""
    if container.__class__ is not dict:
        return container.find(key)
    entries: dict[Value, Value] = container
    # NaN equals no key, and infinity is no valid one.
    if type(key) is float and not math.isfinite(key):
        return MISSING
    value: Value = entries.get(key, MISSING) if _is_hashable(key) else MISSING
    # To Python, True is 1; to CEL it is not.
    if value is not MISSING and (type(key) is bool or key in {0, 1}) and not _has_bool_as_is(entries, key):
        return MISSING
    return value


def _is_hashable(key: Value) -> bool:
    return type(key) in _PLAIN


def _has_bool_as_is(container: dict[Value, Value], key: Value) -> bool:
    return any((type(element) is bool) == (type(key) is bool) for element in container if element == key)


def size_of(value: Value) -> int:
    """Return the size of a value for its cost; 1 for a value without a size."""
    kind: type = value.__class__
    if kind in _SIZED or issubclass(kind, ListLike | MapLike):
        return len(value)
    if isinstance(value, OptionalValue) and value.has_value:
        return size_of(value.value)
    sized = getattr(value, "size", None)
    return sized if isinstance(sized, int) else 1


def equals(left: Value, right: Value) -> bool:
    """Whether two values are equal. Numbers of different types are compared as numbers.

    Raises:
        EvaluationError: If values of a library are compared with others.
    """
    kind: type = left.__class__
    other: type = right.__class__
    if kind is other and kind in _PLAIN:
        return bool(left == right)
    # Null equals only null; other types raise no error here.
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        return type(right) in _NUMBERS and _equal_numbers(left, right)
    if isinstance(left, ListLike | MapLike | Opaque):
        return left.equals(right)
    if kind is list:
        return _equal_lists(left, right)
    if kind is dict:
        return _equal_maps(left, right)
    if kind is OptionalValue:
        return _equal_optionals(left, right)
    return kind is other and bool(left == right)


def _equal_numbers(left: Value, right: Value) -> bool:
    # As Go does: both as float64, although large integers lose digits.
    if type(left) is float or type(right) is float:
        return float(left) == float(right)
    return int(left) == int(right)


def _equal_lists(left: list[Value], right: Value) -> bool:
    if not is_list(right) or len(left) != len(right):
        return False
    return all(map(equals, left, right))


def _equal_maps(left: dict[Value, Value], right: Value) -> bool:
    if not is_map(right) or len(left) != len(right):
        return False
    for key, value in left.items():
        other = find(right, key)
        if other is MISSING or not equals(value, other):
            return False
    return True


def _equal_optionals(left: OptionalValue, right: Value) -> bool:
    if not isinstance(right, OptionalValue) or left.has_value != right.has_value:
        return False
    return not left.has_value or equals(left.value, right.value)


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 as one value is less than, equal to or greater than another.

    Raises:
        EvaluationError: If they have no order.
    """
    kind: type = left.__class__
    other: type = right.__class__
    if kind in _NUMBERS and type(right) in _NUMBERS:
        if kind is float or type(right) is float:
            left, right = float(left), float(right)
            if math.isnan(left) or math.isnan(right):
                raise EvaluationError("NaN values cannot be ordered")
    elif kind is not other:
        raise EvaluationError(NO_OVERLOAD)
    elif kind is Duration:
        left, right = left.nanos, right.nanos
    elif kind is Timestamp:
        left, right = left.key, right.key
    elif kind is str:
        # Go compares bytes, Python code points: the same but for surrogates, which no valid string has.
        pass
    elif kind not in {bool, bytes}:
        raise EvaluationError(NO_OVERLOAD)
    return int(left > right) - int(left < right)
