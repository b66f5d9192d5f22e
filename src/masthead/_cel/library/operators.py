"""Operators: arithmetic with the limits of 64 bits, comparison, membership and indices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from masthead._cel.declarations import Function, Overload, function, overload
from masthead._cel.errors import NO_OVERLOAD, CostError, EvaluationError
from masthead._cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
    param,
)
from masthead._cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    MISSING,
    Duration,
    ListLike,
    Timestamp,
    Uint,
    Value,
    compare,
    equals,
    find,
    is_list,
    is_map,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "FUNCTIONS",
    "MAX_ITEMS",
    "MAX_TEXT",
    "add",
    "checked_int",
    "contains",
    "divide",
    "greater",
    "greater_or_equal",
    "less",
    "less_or_equal",
    "modulo",
    "multiply",
    "negate",
    "subtract",
]

MAX_ITEMS: Final = 2_000_000
"""The most items of a list that an expression may make."""

MAX_TEXT: Final = 20_000_000
"""The most characters of a string that an expression may make."""


def checked_int(value: int) -> int:
    """Return a number that fits into 64 bits.

    Raises:
        EvaluationError: If it does not.
    """
    if MIN_INT <= value <= MAX_INT:
        return value
    raise EvaluationError("integer overflow")


def _checked_uint(value: int) -> Uint:
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def add(left: Value, right: Value) -> Value:
    """Add numbers and times, or concatenate strings, bytes and lists.

    Raises:
        EvaluationError: If the result overflows, or the operands have other types.
        CostError: If the result is too large.
    """
    kind: type = left.__class__
    other: type = right.__class__
    if kind is other and kind in _ADDERS:
        return _ADDERS[kind](left, right)
    if kind is Timestamp and other is Duration:
        return left.plus(right.nanos)
    if kind is Duration and other is Timestamp:
        return right.plus(left.nanos)
    if is_list(left) and is_list(right):
        return _concatenate(left, right)
    raise EvaluationError(NO_OVERLOAD)


def _add_text(left: str | bytes, right: str | bytes) -> Value:
    # Doubling a text in a loop would exhaust the memory before the cost limit is reached.
    if len(left) + len(right) > MAX_TEXT:
        raise CostError
    return left + right  # type: ignore[operator]


_ADDERS: Final[dict[type, Callable[[Value, Value], Value]]] = {
    int: lambda left, right: checked_int(left + right),
    Uint: lambda left, right: _checked_uint(int(left) + int(right)),
    float: lambda left, right: left + right,
    str: _add_text,
    bytes: _add_text,
    Duration: lambda left, right: Duration(left.nanos + right.nanos),
}


def _concatenate(left: Value, right: Value) -> Value:
    if len(left) + len(right) > MAX_ITEMS:
        raise CostError
    return left.plus(right) if isinstance(left, ListLike) else [*left, *right]


def subtract(left: Value, right: Value) -> Value:
    """Subtract numbers and times.

    Raises:
        EvaluationError: If the result overflows, or the operands have other types.
    """
    kind: type = left.__class__
    other: type = right.__class__
    if kind is Timestamp:
        if other is Duration:
            # The smallest duration has no positive counterpart in int64.
            return left.plus(-checked_int(right.nanos))
        if other is Timestamp:
            return left.minus(right)
    if kind is other:
        if kind is int:
            return checked_int(left - right)
        if kind is Uint:
            return _checked_uint(int(left) - int(right))
        if kind is float:
            return left - right
        if kind is Duration:
            return Duration(left.nanos - right.nanos)
    raise EvaluationError(NO_OVERLOAD)


def multiply(left: Value, right: Value) -> Value:
    """Multiply numbers.

    Raises:
        EvaluationError: If the result overflows, or the operands have other types.
    """
    kind: type = left.__class__
    other: type = right.__class__
    if kind is other:
        if kind is int:
            return checked_int(left * right)
        if kind is Uint:
            return _checked_uint(int(left) * int(right))
        if kind is float:
            return left * right
    raise EvaluationError(NO_OVERLOAD)


def divide(left: Value, right: Value) -> Value:
    """Divide numbers; integers towards zero.

    Raises:
        EvaluationError: If an integer is divided by zero, the result overflows, or the operands have other types.
    """
    kind: type = left.__class__
    other: type = right.__class__
    if kind is not other:
        raise EvaluationError(NO_OVERLOAD)
    if kind is float:
        return _divide_floats(left, right)
    if kind not in {int, Uint}:
        raise EvaluationError(NO_OVERLOAD)
    if right == 0:
        raise EvaluationError("division by zero")
    # Toward zero, as in Go; Python rounds down.
    quotient = abs(int(left)) // abs(int(right))
    if kind is Uint:
        return Uint(quotient)
    return checked_int(-quotient if (left < 0) != (right < 0) else quotient)


def _divide_floats(left: float, right: float) -> float:
    # Python raises where IEEE 754 has infinity.
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def modulo(left: Value, right: Value) -> Value:
    """Return the rest of a division; it has the sign of the dividend.

    Raises:
        EvaluationError: If the divisor is zero, the result overflows, or the operands are no integers.
    """
    kind: type = left.__class__
    other: type = right.__class__
    if kind is not other or kind not in {int, Uint}:
        raise EvaluationError(NO_OVERLOAD)
    if right == 0:
        raise EvaluationError("modulus by zero")
    if kind is Uint:
        return Uint(int(left) % int(right))
    # The one remainder that overflows in Go.
    if left == MIN_INT and right == -1:
        raise EvaluationError("integer overflow")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def negate(value: Value) -> Value:
    """Change the sign of a number.

    Raises:
        EvaluationError: If the result overflows, or it is no signed number.
    """
    kind: type = value.__class__
    if kind is int:
        return checked_int(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return Duration(-value.nanos)
    raise EvaluationError(NO_OVERLOAD)


def less(left: Value, right: Value) -> bool:
    """Whether a value is less than another."""
    return compare(left, right) < 0


def less_or_equal(left: Value, right: Value) -> bool:
    """Whether a value is less than another, or equal."""
    return compare(left, right) <= 0


def greater(left: Value, right: Value) -> bool:
    """Whether a value is greater than another."""
    return compare(left, right) > 0


def greater_or_equal(left: Value, right: Value) -> bool:
    """Whether a value is greater than another, or equal."""
    return compare(left, right) >= 0


def contains(item: Value, container: Value) -> bool:
    """Whether a list has an item, or a map a key.

    Raises:
        EvaluationError: If it is neither.
    """
    if is_map(container):
        return find(container, item) is not MISSING
    if not is_list(container):
        raise EvaluationError(NO_OVERLOAD)
    # Linear and with CEL's equality: 1 is in [1.0].
    return any(equals(element, item) for element in container)


def _not(value: Value) -> bool:
    if type(value) is not bool:
        raise EvaluationError(NO_OVERLOAD)
    return not value


def _evaluated_by_compiler(*_args: Value) -> Value:
    raise EvaluationError(NO_OVERLOAD)


_A: Final = param("A")
_B: Final = param("B")
_V: Final = param("V")
_K: Final = param("K")
_LIST: Final = list_of(_A)
_MAP: Final = map_of(_A, _B)
_NUMBERS: Final = (("int64", INT), ("uint64", UINT), ("double", DOUBLE))


def _arithmetic(verb: str, call: Callable[[Value, Value], Value], *types: tuple[str, Type]) -> list[Overload]:
    return [overload(f"{verb}_{name}", (kind, kind), kind, call) for name, kind in types]


def _comparison(verb: str, call: Callable[[Value, Value], bool]) -> list[Overload]:
    overloads = [overload(f"{verb}_bool", (BOOL, BOOL), BOOL, call)]
    for name, kind in _NUMBERS:
        overloads.append(overload(f"{verb}_{name}", (kind, kind), BOOL, call))
        overloads += [
            overload(f"{verb}_{name}_{other}", (kind, other_kind), BOOL, call)
            for other, other_kind in _NUMBERS
            if other != name
        ]
    for name, kind in (
        ("string", STRING),
        ("bytes", BYTES),
        ("timestamp", TIMESTAMP),
        ("duration", DURATION),
    ):
        overloads.append(overload(f"{verb}_{name}", (kind, kind), BOOL, call))
    return overloads


FUNCTIONS: Final[tuple[Function, ...]] = (
    function("_?_:_", overload("conditional", (BOOL, _A, _A), _A, _evaluated_by_compiler)),
    function("_&&_", overload("logical_and", (BOOL, BOOL), BOOL, _evaluated_by_compiler)),
    function("_||_", overload("logical_or", (BOOL, BOOL), BOOL, _evaluated_by_compiler)),
    function("!_", overload("logical_not", (BOOL,), BOOL, _not)),
    function("@not_strictly_false", overload("not_strictly_false", (BOOL,), BOOL, _evaluated_by_compiler)),
    function("_==_", overload("equals", (_A, _A), BOOL, equals)),
    function("_!=_", overload("not_equals", (_A, _A), BOOL, lambda left, right: not equals(left, right))),
    function(
        "_+_",
        overload("add_bytes", (BYTES, BYTES), BYTES, add),
        overload("add_double", (DOUBLE, DOUBLE), DOUBLE, add),
        overload("add_duration_duration", (DURATION, DURATION), DURATION, add),
        overload("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, add),
        overload("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, add),
        overload("add_int64", (INT, INT), INT, add),
        overload("add_list", (_LIST, _LIST), _LIST, add),
        overload("add_string", (STRING, STRING), STRING, add),
        overload("add_uint64", (UINT, UINT), UINT, add),
    ),
    function(
        "_-_",
        overload("subtract_double", (DOUBLE, DOUBLE), DOUBLE, subtract),
        overload("subtract_duration_duration", (DURATION, DURATION), DURATION, subtract),
        overload("subtract_int64", (INT, INT), INT, subtract),
        overload("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, subtract),
        overload("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION, subtract),
        overload("subtract_uint64", (UINT, UINT), UINT, subtract),
    ),
    function("_*_", *_arithmetic("multiply", multiply, *reversed(_NUMBERS))),
    function("_/_", *_arithmetic("divide", divide, *reversed(_NUMBERS))),
    function("_%_", *_arithmetic("modulo", modulo, *_NUMBERS[:2])),
    function(
        "-_",
        overload("negate_double", (DOUBLE,), DOUBLE, negate),
        overload("negate_int64", (INT,), INT, negate),
    ),
    function("_<_", *_comparison("less", less)),
    function("_<=_", *_comparison("less_equals", less_or_equal)),
    function("_>_", *_comparison("greater", greater)),
    function("_>=_", *_comparison("greater_equals", greater_or_equal)),
    function(
        "_[_]",
        overload("index_list", (_LIST, INT), _A, _evaluated_by_compiler),
        overload("index_map", (_MAP, _A), _B, _evaluated_by_compiler),
        overload(
            "optional_list_index_int",
            (optional_of(list_of(_V)), INT),
            optional_of(_V),
            _evaluated_by_compiler,
        ),
        overload(
            "optional_map_index_value",
            (optional_of(map_of(_K, _V)), _K),
            optional_of(_V),
            _evaluated_by_compiler,
        ),
    ),
    function(
        "_[?_]",
        overload("list_optindex_optional_int", (list_of(_V), INT), optional_of(_V), _evaluated_by_compiler),
        overload(
            "optional_list_optindex_optional_int",
            (optional_of(list_of(_V)), INT),
            optional_of(_V),
            _evaluated_by_compiler,
        ),
        overload("map_optindex_optional_value", (map_of(_K, _V), _K), optional_of(_V), _evaluated_by_compiler),
        overload(
            "optional_map_optindex_optional_value",
            (optional_of(map_of(_K, _V)), _K),
            optional_of(_V),
            _evaluated_by_compiler,
        ),
    ),
    function(
        "@in",
        overload("in_list", (_A, _LIST), BOOL, contains),
        overload("in_map", (_A, _MAP), BOOL, contains),
    ),
)
