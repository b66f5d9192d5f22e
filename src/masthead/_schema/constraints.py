"""Constraints on one value: its type, and what strings, numbers and enumerations allow.

Texts, and what they say about odd schemas, are those of kube-apiserver: an integer whose maximum is 2.5 is always
invalid, and the text blames the boundary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.quoting import quoted
from masthead._regexp.pattern import MatchLimitError, PatternError, compile_pattern
from masthead._schema.errors import (
    FieldError,
    float_text,
    json_text,
    sorted_keys,
)
from masthead._schema.formats import checked_format, is_known, string_format
from masthead._schema.schema import is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._schema.schema import Json, Schema

__all__ = [
    "ValueProblem",
    "enum_finding",
    "identity",
    "is_integral",
    "kind_of",
    "number_findings",
    "pattern_problem",
    "same_value",
    "string_findings",
    "type_finding",
    "type_names",
]

_KINDS: Final = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
_NUMBER_FORMATS: Final = {"integer": "int64", "number": "float64"}
_SAFE_INTEGER: Final = 2.0**53 - 1
_EPSILON: Final = 1e-9
_INT32: Final = 2**31
_INT64: Final = 2**63
_MAX_FLOAT32: Final = 2.0**128 * (1 - 2.0**-25)
"""Numbers from here on are rounded to infinity."""


class ValueProblem(NamedTuple):
    """A violated constraint. It becomes an error unless another alternative (``anyOf``) accepts the value.

    Attributes:
        text: The whole message; findings with equal texts are reported once.
        path: The path of the value; None if the error is reported at the root.
        reason: The reason of the error.
        value: The bad value.
        detail: The detail of the error.
    """

    text: str
    path: str | None
    reason: str
    value: Json
    detail: str

    def error(self, root: str) -> FieldError:
        """Return the error.

        Args:
            root: The path of the validated value; empty for a whole object.
        """
        path = (self.path or "").removeprefix(".")
        if not path:
            # This is how Go writes the path of nothing.
            path = root or "<nil>"
        elif root:
            path = f"{root}.{path}"
        return FieldError(self.reason, path, sorted_keys(self.value), self.detail)


def _invalid(path: str, value: Json, text: str, reason: str = "FieldValueInvalid") -> ValueProblem:
    return ValueProblem(text, path, reason, value, text)


def kind_of(value: Json) -> str:
    """Return the name of a value's type in a schema."""
    return _KINDS[type(value)]


def type_names(schema: Schema) -> tuple[str, ...]:
    """Return the types that a schema allows; none for any."""
    if schema.int_or_string:
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def type_finding(schema: Schema, value: Json, path: str) -> ValueProblem | None:
    """Check the type of a value."""
    types = type_names(schema)
    kind = kind_of(value)
    if value is None:
        # A schema without a type allows null, as the server's validator does.
        wrong = bool(types) and not schema.nullable
        return _wrong_type(path, ",".join(types), kind) if wrong else None
    # kube-apiserver treats some format names as types. A schema without type and format allows anything.
    name = checked_format(schema)
    if not types and not name:
        return None
    fits = (
        kind in types
        # JSON does not distinguish 1 and 1.0, and so the server accepts either for the other.
        or (kind == "number" and "integer" in types and is_integral(value))
        or (kind == "integer" and "number" in types)
    )
    is_text = isinstance(value, str | list)
    # The message names the format instead of the type, and Go's format of the value.
    if name and not is_text and not fits:
        return _wrong_type(path, name, _NUMBER_FORMATS.get(kind, ""))
    # A text may satisfy a format; whether it does is checked with the other constraints of strings.
    if name and is_text and "integer" not in types and "number" not in types:
        return None
    return None if fits else _wrong_type(path, ",".join(types), kind)


def _wrong_type(path: str, wanted: str, found: str) -> ValueProblem:
    text = f"{path} in body must be of type {wanted}: {quoted(found)}"
    return _invalid(path, found, text, "FieldValueTypeInvalid")


def is_integral(number: float) -> bool:
    """Tell whether a float counts as an integer."""
    if not math.isfinite(number) or abs(number) > _SAFE_INTEGER:
        return False
    if number == int(number):
        return True
    # Go's validator tolerates rounding errors above one.
    whole = float(int(number))
    return number > 1 and (number - whole) / (number + whole) < _EPSILON


def enum_finding(schema: Schema, value: Json, path: str) -> ValueProblem | None:
    """Check that a value is one of an enumeration, if there is one."""
    if not schema.enum or any(_equals(value, choice) for choice in schema.enum):
        return None
    names = [choice if isinstance(choice, str) else json_text(sorted_keys(choice)) for choice in schema.enum]
    error = not_supported_text(names)
    text = f"{path} in body should be one of {names}"
    return ValueProblem(text, path, "FieldValueNotSupported", value, error)


def not_supported_text(names: list[str]) -> str:
    """Return the detail of an error about an enumeration."""
    return f"supported values: {', '.join(map(quoted, names))}"


def _equals(value: Json, member: Json) -> bool:
    """Compare as Go does after it has converted the value to the type of the member."""
    # Null equals no member, not even null.
    if type(value) is type(member):
        return value is not None and same_value(value, member)
    # Go converts the value to the type of the member where that is possible.
    if type(value) is int and type(member) is float:
        return float(value) == member
    if type(value) is float and type(member) is int:
        return math.isfinite(value) and int(value) == member
    if type(value) is int and type(member) is str:
        # Go converts an integer to the character with that code.
        is_character = 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF
        return member == (chr(value) if is_character else "\ufffd")
    return False


def same_value(one: Json, other: Json) -> bool:
    """Tell whether two values are equal; unlike in Python, 1, 1.0 and true are not."""
    if type(one) is not type(other):
        return False
    if is_object(one):
        return one.keys() == other.keys() and all(same_value(inner, other[key]) for key, inner in one.items())
    if is_list(one):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other)


def identity(value: object) -> object:
    """Return something that is equal, and hashable, for equal values only."""
    if is_object(value):
        return (dict, frozenset((key, identity(inner)) for key, inner in value.items()))
    if is_list(value):
        return (list, *map(identity, value))
    return (type(value), value)


def string_findings(schema: Schema, value: str, path: str) -> Iterator[ValueProblem]:
    """Check the length and pattern of a string, of which the first failure counts, and its format."""
    yield from _length_and_pattern(schema, value, path)
    name = checked_format(schema)
    if name and is_known(name, "string") and not string_format(name)(value):
        text = f"{path} in body must be of type {name}: {quoted(value)}"
        yield _invalid(path, value, text, "FieldValueTypeInvalid")


def _length_and_pattern(schema: Schema, value: str, path: str) -> Iterator[ValueProblem]:
    if schema.max_length is not None and len(value) > schema.max_length:
        text = f"{path} in body should be at most {schema.max_length} chars long"
        yield ValueProblem(text, path, "FieldValueTooLong", "", _too_long_text(schema.max_length))
    # At most one of these is reported: the server returns at the first violation.
    elif schema.min_length is not None and len(value) < schema.min_length:
        yield _invalid(path, value, f"{path} in body should be at least {schema.min_length} chars long")
    elif schema.pattern and (problem := pattern_problem(schema.pattern, value)) is not None:
        yield _invalid(path, value, f"{path} in body should match '{schema.pattern}{problem}'")


def _too_long_text(limit: int) -> str:
    if limit < 0:
        return "value is too long"
    return f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}"


def pattern_problem(pattern: str, value: str) -> str | None:
    """Return what follows the pattern in the text; None if the value matches."""
    try:
        return None if compile_pattern(pattern).search(value) else ""
    # An invalid pattern fails every value, with the reason in the message.
    except PatternError as error:
        return f", but pattern is invalid: {error}"
    except MatchLimitError as error:
        return f", but {error}"


def number_findings(schema: Schema, value: float, path: str) -> Iterator[ValueProblem]:
    """Check the range of a number, and what it must be a multiple of."""
    if (finding := _range_finding(schema, value, "Checked", path)) is not None:
        yield finding
    factor, minimum, maximum = schema.multiple_of, schema.minimum, schema.maximum
    if factor is not None:
        yield from _boundary(schema, factor, "MultipleOf", path)
        yield from _multiple(schema, value, factor, path)
    if minimum is not None:
        yield from _boundary(schema, minimum, "Minimum boundary", path)
        number, limit = _comparable(schema, value, minimum)
        if number < limit or (schema.exclusive_minimum and number == limit):
            words = "greater than" if schema.exclusive_minimum else "greater than or equal to"
            yield _invalid(path, number, f"{path} in body should be {words} {_number_text(limit)}")
    if maximum is not None:
        yield from _boundary(schema, maximum, "Maximum boundary", path)
        number, limit = _comparable(schema, value, maximum)
        if number > limit or (schema.exclusive_maximum and number == limit):
            words = "less than" if schema.exclusive_maximum else "less than or equal to"
            yield _invalid(path, number, f"{path} in body should be {words} {_number_text(limit)}")


def _range_finding(schema: Schema, value: float, what: str, path: str) -> ValueProblem | None:
    """Check that a number can be one of the type and format."""
    type_name = "" if schema.int_or_string else schema.type
    name = checked_format(schema)
    if type_name == "integer":
        limit = _INT32 if name == "int32" else _INT64
        # int64 is the default format of integers.
        wrong = value != int(value) or not -limit <= value < limit if math.isfinite(value) else True
    else:
        wrong = type_name == "number" and name == "float" and abs(value) >= _MAX_FLOAT32
    if not wrong:
        return None
    suffix = f"with format {name}" if name else "(default format)"
    text = f"{what} value must be of type {type_name} {suffix} in {path}"
    # This one is reported at the root.
    return ValueProblem(text, None, "FieldValueInvalid", "", text)


def _boundary(schema: Schema, limit: float, what: str, path: str) -> Iterator[ValueProblem]:
    finding = _range_finding(schema, float(limit), what, path)
    if finding is not None:
        yield finding


def _comparable(schema: Schema, value: float, limit: float) -> tuple[float, float]:
    """Return a number and its limit as they are compared: an integer's limit is cut to an integer."""
    # Integers are compared as integers if the limit is a valid integer of the format, too.
    if isinstance(value, int) and _range_finding(schema, float(limit), "", "") is None:
        return value, _as_int64(float(limit))
    return float(value), float(limit)


def _as_int64(number: float) -> int:
    # The result of Go's conversion of an out-of-range float on amd64.
    return int(number) if -_INT64 <= number < _INT64 else -_INT64


def _multiple(schema: Schema, value: float, factor: float, path: str) -> Iterator[ValueProblem]:
    number, divisor = _comparable(schema, value, factor)
    if divisor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {_number_text(divisor)}"
        yield _invalid(path, divisor, text)
    elif not _is_multiple(number, divisor):
        yield _invalid(path, number, f"{path} in body should be a multiple of {_number_text(divisor)}")


def _is_multiple(number: float, divisor: float) -> bool:
    if isinstance(number, int):
        return number % divisor == 0
    # Multiplying is more exact than dividing by a fraction; the server does the same.
    return is_integral(1 / divisor * number if divisor < 1 else number / divisor)


def _number_text(number: float) -> str:
    return str(number) if isinstance(number, int) else float_text(number)
