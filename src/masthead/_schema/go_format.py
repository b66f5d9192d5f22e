"""Plain data as Go's ``fmt`` package writes it, for messages that repeat a value."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["go_literal", "go_string", "go_type", "go_value"]

_INT64: Final = range(-(2**63), 2**63)
_SMALLEST_PLAIN: Final = 1e-4
_MAX_PLAIN: Final = 1e6
"""Go writes numbers outside of this range with an exponent."""
_TYPES: Final[Mapping[type, str]] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    float: "float64",
}


def go_type(value: object) -> str:
    """Name the Go type of a decoded JSON value, as ``%s`` writes it; null has none."""
    if value is None:
        return "%!s(<nil>)"
    if type(value) is int:
        # What does not fit is decoded as a float.
        return "int64" if value in _INT64 else "float64"
    return _TYPES[type(value)]


def go_value(value: object) -> str:
    """Write a value as ``%v`` does: ``map[a:1 b:[x y] c:<nil>]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value) if value in _INT64 else _float(float(value))
        case float():
            return _float(value)
        case dict():
            items = sorted(cast("dict[str, object]", value).items())
            return f"map[{' '.join(f'{key}:{go_value(item)}' for key, item in items)}]"
        case _:
            return f"[{' '.join(map(go_value, cast('list[object]', value)))}]"


def go_string(value: object) -> str:
    """Write a value as ``%s`` does, which marks everything that is no string."""
    match value:
        case str():
            return value
        case None:
            return "%!s(<nil>)"
        case dict():
            items = sorted(cast("dict[str, object]", value).items())
            return f"map[{' '.join(f'{key}:{go_string(item)}' for key, item in items)}]"
        case list():
            return f"[{' '.join(map(go_string, cast('list[object]', value)))}]"
        case _:
            return f"%!s({go_type(value)}={go_value(value)})"


def go_literal(value: object) -> str:
    """Write a value as ``%#v`` does: ``map[string]interface {}{"a":[]interface {}{1, interface {}(nil)}}``."""
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return quoted(value)
        case dict():
            items = sorted(cast("dict[str, object]", value).items())
            return f"{go_type({})}{{{', '.join(f'{quoted(key)}:{go_literal(item)}' for key, item in items)}}}"
        case list():
            return f"{go_type([])}{{{', '.join(map(go_literal, cast('list[object]', value)))}}}"
        case _:
            return go_value(value)


def _float(value: float) -> str:
    if value.is_integer() and abs(value) < _MAX_PLAIN:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    if _SMALLEST_PLAIN <= abs(value) < _MAX_PLAIN:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    first, *rest = map(str, digits)
    fraction = f".{''.join(rest)}" if rest else ""
    return f"{'-' if sign else ''}{first}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"
