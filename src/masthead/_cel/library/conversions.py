"""Conversions: ``int('1')``, ``string(1.5)``, ``type(x)``, and sizes."""

from __future__ import annotations

import math
import re
from typing import Final

from masthead._cel.declarations import Function, function, method, overload
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.library.times import parse_timestamp
from masthead._cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    list_of,
    map_of,
    param,
    type_of,
)
from masthead._cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    Duration,
    ListLike,
    MapLike,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    type_name,
)
from masthead._meta.go_duration import parse_duration

__all__ = ["FUNCTIONS", "format_double", "to_string"]

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,64}\Z")
_UNSIGNED: Final = re.compile(r"[0-9]{1,64}\Z")
_FLOAT: Final = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)\Z", re.IGNORECASE
)
_HEX_FLOAT: Final = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+\Z", re.IGNORECASE)
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _conversion_error(value: Value, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_name(value)}' to '{target}'")


def to_int(value: Value) -> int:
    """Convert to a signed number.

    Raises:
        EvaluationError: If it cannot be converted, or overflows.
    """
    kind: type = value.__class__
    if kind is int or kind is Uint:
        if value > MAX_INT:
            raise EvaluationError("integer overflow")
        return int(value)
    if kind is float:
        if not math.isfinite(value) or not float(MIN_INT) < value < float(MAX_INT):
            raise EvaluationError("integer overflow")
        return int(value)
    if kind is Duration:
        return int(value.nanos)
    if kind is Timestamp:
        return int(value.seconds)
    if kind is str and _INTEGER.match(value) and MIN_INT <= int(value) <= MAX_INT:
        return int(value)
    raise _conversion_error(value, "int")


def to_uint(value: Value) -> Uint:
    """Convert to an unsigned number.

    Raises:
        EvaluationError: If it cannot be converted, or overflows.
    """
    kind: type = value.__class__
    if kind is int or kind is Uint:
        if value < 0:
            raise EvaluationError("unsigned integer overflow")
        return Uint(value)
    if kind is float:
        if not math.isfinite(value) or not 0 <= value < 2.0**64:
            raise EvaluationError("unsigned integer overflow")
        return Uint(int(value))
    if kind is str and _UNSIGNED.match(value) and int(value) <= MAX_UINT:
        return Uint(int(value))
    raise _conversion_error(value, "uint")


def to_double(value: Value) -> float:
    """Convert to a floating-point number.

    Raises:
        EvaluationError: If it cannot be converted.
    """
    kind: type = value.__class__
    if kind in {int, Uint, float}:
        return float(value)
    if kind is str:
        number = _parse_float(value)
        if number is not None:
            return number
    raise _conversion_error(value, "double")


def _parse_float(text: str) -> float | None:
    if _FLOAT.match(text):
        number = float(text)
        # Too large a number is an error, unless it is written as infinity.
        return None if math.isinf(number) and "inf" not in text.lower() else number
    if _HEX_FLOAT.match(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return None
    return None


def to_string(value: Value) -> str:
    """Convert to a string.

    Raises:
        EvaluationError: If it has no text.
    """
    kind: type = value.__class__
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return format_double(value)
    if kind is bytes:
        return _decode(value)
    if kind in {int, Uint}:
        return str(int(value))
    if kind in {Duration, Timestamp, TypeValue}:
        return str(value)
    raise _conversion_error(value, "string")


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def format_double(value: float) -> str:
    """Write a number as Go's ``%g`` does."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, exponent = f"{value!r}".partition("e")
    digits, power = _scientific(mantissa, int(exponent or 0))
    sign = "-" if math.copysign(1, value) < 0 else ""
    if -4 <= power < 6:
        return sign + _positional(digits, power)
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02}"


def _scientific(mantissa: str, exponent: int) -> tuple[str, int]:
    """The digits without zeros around them, and the power of ten of the first."""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = whole + fraction
    stripped = digits.lstrip("0")
    if not stripped:
        return "0", 0
    power = len(whole) - 1 - (len(digits) - len(stripped)) + exponent
    return stripped.rstrip("0"), power


def _positional(digits: str, power: int) -> str:
    if power < 0:
        return f"0.{'0' * (-power - 1)}{digits}"
    whole = digits[: power + 1].ljust(power + 1, "0")
    fraction = digits[power + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def to_bool(value: Value) -> bool:
    """Convert to a truth value.

    Raises:
        EvaluationError: If it cannot be converted.
    """
    if type(value) is bool:
        return value
    if type(value) is str and value in _BOOLS:
        return _BOOLS[value]
    raise _conversion_error(value, "bool")


def to_bytes(value: Value) -> bytes:
    """Convert to bytes: the UTF-8 encoding of a string.

    Raises:
        EvaluationError: If it is neither string nor bytes.
    """
    if type(value) is bytes:
        return value
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass")
    raise _conversion_error(value, "bytes")


def to_duration(value: Value) -> Duration:
    """Convert to a span of time. The server declares it for numbers, too, and fails.

    Raises:
        EvaluationError: If it cannot be converted.
    """
    if type(value) is Duration:
        return value
    if type(value) is str:
        nanos = parse_duration(value)
        if nanos is not None:
            return Duration(nanos)
    raise _conversion_error(value, "google.protobuf.Duration")


def to_timestamp(value: Value) -> Timestamp:
    """Convert to a point in time; numbers are seconds since 1970.

    Raises:
        EvaluationError: If it cannot be converted.
    """
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        return Timestamp(value)
    if type(value) is str:
        when = parse_timestamp(value)
        if when is not None:
            return when
    raise _conversion_error(value, "google.protobuf.Timestamp")


def _identity(value: Value) -> Value:
    return value


def _type(value: Value) -> TypeValue:
    return TypeValue(type_name(value))


def _size(value: Value) -> int:
    if value.__class__ in {str, bytes, list, dict} or isinstance(value, ListLike | MapLike):
        return len(value)
    raise EvaluationError(NO_OVERLOAD)


_A: Final = param("A")
_B: Final = param("B")

FUNCTIONS: Final[tuple[Function, ...]] = (
    function("type", overload("type", (_A,), type_of(_A), _type)),
    function("dyn", overload("to_dyn", (_A,), DYN, _identity)),
    function(
        "size",
        overload("size_bytes", (BYTES,), INT, _size),
        method("bytes_size", (BYTES,), INT, _size),
        overload("size_list", (list_of(_A),), INT, _size),
        method("list_size", (list_of(_A),), INT, _size),
        overload("size_map", (map_of(_A, _B),), INT, _size),
        method("map_size", (map_of(_A, _B),), INT, _size),
        overload("size_string", (STRING,), INT, _size),
        method("string_size", (STRING,), INT, _size),
    ),
    function(
        "bool",
        overload("bool_to_bool", (BOOL,), BOOL, to_bool),
        overload("string_to_bool", (STRING,), BOOL, to_bool),
    ),
    function(
        "bytes",
        overload("bytes_to_bytes", (BYTES,), BYTES, to_bytes),
        overload("string_to_bytes", (STRING,), BYTES, to_bytes),
    ),
    function(
        "double",
        overload("double_to_double", (DOUBLE,), DOUBLE, to_double),
        overload("int64_to_double", (INT,), DOUBLE, to_double),
        overload("string_to_double", (STRING,), DOUBLE, to_double),
        overload("uint64_to_double", (UINT,), DOUBLE, to_double),
    ),
    function(
        "duration",
        overload("duration_to_duration", (DURATION,), DURATION, to_duration),
        overload("int64_to_duration", (INT,), DURATION, to_duration),
        overload("string_to_duration", (STRING,), DURATION, to_duration),
    ),
    function(
        "int",
        overload("int64_to_int64", (INT,), INT, to_int),
        overload("double_to_int64", (DOUBLE,), INT, to_int),
        overload("duration_to_int64", (DURATION,), INT, to_int),
        overload("string_to_int64", (STRING,), INT, to_int),
        overload("timestamp_to_int64", (TIMESTAMP,), INT, to_int),
        overload("uint64_to_int64", (UINT,), INT, to_int),
    ),
    function(
        "string",
        overload("string_to_string", (STRING,), STRING, to_string),
        overload("bool_to_string", (BOOL,), STRING, to_string),
        overload("bytes_to_string", (BYTES,), STRING, to_string),
        overload("double_to_string", (DOUBLE,), STRING, to_string),
        overload("duration_to_string", (DURATION,), STRING, to_string),
        overload("int64_to_string", (INT,), STRING, to_string),
        overload("timestamp_to_string", (TIMESTAMP,), STRING, to_string),
        overload("uint64_to_string", (UINT,), STRING, to_string),
    ),
    function(
        "timestamp",
        overload("timestamp_to_timestamp", (TIMESTAMP,), TIMESTAMP, to_timestamp),
        overload("int64_to_timestamp", (INT,), TIMESTAMP, to_timestamp),
        overload("string_to_timestamp", (STRING,), TIMESTAMP, to_timestamp),
    ),
    function(
        "uint",
        overload("uint64_to_uint64", (UINT,), UINT, to_uint),
        overload("double_to_uint64", (DOUBLE,), UINT, to_uint),
        overload("int64_to_uint64", (INT,), UINT, to_uint),
        overload("string_to_uint64", (STRING,), UINT, to_uint),
    ),
)
