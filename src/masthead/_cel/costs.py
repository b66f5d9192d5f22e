"""What calls cost when they are evaluated, in the units of Kubernetes."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._cel.library.formats import FormatValue
from masthead._cel.values import Opaque, Value, find, is_list, is_map, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["AUTHORIZATION_COST", "LIST_COST", "MAP_COST", "STRUCT_COST", "CallCost", "comparison_cost", "cost_of_call"]

LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
AUTHORIZATION_COST: Final = 350_000
"""What asking the authorizer costs."""

CallCost: TypeAlias = "Callable[[Sequence[Value]], int]"
"""The cost of a call, from its arguments."""


def _tenth(size: int) -> int:
    """The cost of reading so many characters: a tenth, rounded up."""
    # As a float64, as the server counts: 70 characters cost 8.
    return ceil(size * 0.1)


def _quarter(size: int) -> int:
    return -(-size // 4)


def comparison_cost(left: Value, right: Value) -> int:
    """The cost of comparing two values: that of reading the smaller one."""
    if isinstance(left, Opaque):
        return 1
    return _tenth(min(size_of(left), size_of(right)))


def _traversal(value: Value) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass")) // 10
    if isinstance(value, bytes):
        return len(value) // 10
    if is_list(value):
        return sum(map(_traversal, value))
    if is_map(value):
        return sum(_traversal(key) + _traversal(find(value, key)) for key in value)
    return 1


def _read(args: Sequence[Value]) -> int:
    return _tenth(size_of(args[0]))


def _read_twice(args: Sequence[Value]) -> int:
    return _tenth(2 * size_of(args[0]))


def _join(args: Sequence[Value]) -> int:
    length = sum(len(part) for part in args[0] if isinstance(part, str))
    separators = max(len(args[0]) - 1, 0) * (len(args[1]) if len(args) > 1 else 0)
    return _tenth(2 * (length + separators))


def _match(args: Sequence[Value]) -> int:
    return _tenth(1 + size_of(args[0])) * _quarter(size_of(args[1]))


def _contains(args: Sequence[Value]) -> int:
    return _tenth(size_of(args[0])) * _tenth(size_of(args[1]))


def _contains_ip(args: Sequence[Value]) -> int:
    cost = _tenth(2 * size_of(args[0]))
    return cost + _tenth(size_of(args[1])) if isinstance(args[1], str) else cost


def _contains_cidr(args: Sequence[Value]) -> int:
    cost = _tenth(2 * size_of(args[0])) + _tenth(size_of(args[0])) + 1
    return cost + _tenth(size_of(args[1])) if isinstance(args[1], str) else cost


def _validate(args: Sequence[Value]) -> int:
    if not isinstance(args[0], FormatValue):
        return 1
    return _tenth(1 + size_of(args[1])) * _quarter(args[0].regex_size)


def _in_list(args: Sequence[Value]) -> int:
    return size_of(args[1])


def _compare(args: Sequence[Value]) -> int:
    return comparison_cost(args[0], args[1])


def _concatenate(args: Sequence[Value]) -> int:
    return _tenth(size_of(args[0]) + size_of(args[1]))


def _sets(factor: int) -> CallCost:
    def cost(args: Sequence[Value]) -> int:
        return 1 + size_of(args[0]) * size_of(args[1]) * factor

    return cost


def _new_list(args: Sequence[Value]) -> int:
    return size_of(args[0]) + 1 + LIST_COST


def _slice(args: Sequence[Value]) -> int:
    return int(max(args[2] - args[1], 0)) + 1 + LIST_COST


def _range(args: Sequence[Value]) -> int:
    return int(max(args[0], 0)) + 1 + LIST_COST


def _flatten(args: Sequence[Value]) -> int:
    return size_of(args[0]) * (max(args[1], 0) if len(args) > 1 else 1) + 1 + LIST_COST


def _self_compare(items: Value) -> int:
    count = size_of(items)
    factor = 2.1 if count and isinstance(items[0], str | bytes) else 2.0
    return int(count * count * factor) + 1 + LIST_COST


_BY_FUNCTION: Final[dict[str, CallCost]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lambda args: _traversal(args[0])),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR"), _read),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _read),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _read_twice),
    **dict.fromkeys(("find", "findAll"), _match),
    "join": _join,
    "ip": lambda args: _read(args) if isinstance(args[0], str) else 1,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    # Two checks in an expression are allowed, a third exceeds the limit.
    "check": lambda _args: AUTHORIZATION_COST,
}
_BY_OVERLOAD: Final[dict[str, CallCost]] = {
    **dict.fromkeys(
        (
            "starts_with_string",
            "ends_with_string",
            "string_to_bytes",
            "bytes_to_string",
            "strings_quote",
            "string_format",
        ),
        _read,
    ),
    "in_list": _in_list,
    **dict.fromkeys(
        (
            f"{verb}_{kind}"
            for verb in ("less", "less_equals", "greater", "greater_equals")
            for kind in ("string", "bytes")
        ),
        _compare,
    ),
    **dict.fromkeys(("equals", "not_equals"), _compare),
    **dict.fromkeys(("add_string", "add_bytes"), _concatenate),
    "matches_string": _match,
    "contains_string": _contains,
    **dict.fromkeys(("list_sets_contains_list", "list_sets_intersects_list"), _sets(1)),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _new_list,
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flatten),
    "list_distinct": lambda args: _self_compare(args[0]),
}


def cost_of_call(function: str, overloads: Sequence[str]) -> CallCost | None:
    """Return what a call costs; None if it always costs 1.

    Args:
        function: The name of the function.
        overloads: The overloads that may be meant.
    """
    if function == "sort":
        return lambda args: _self_compare(args[0])
    if function == "@sortByAssociatedKeys":
        return lambda args: _self_compare(args[1])
    if function in _BY_FUNCTION:
        return _BY_FUNCTION[function]
    # The server knows the cost only of a call that is resolved; others cost 1.
    return _BY_OVERLOAD.get(overloads[0]) if len(overloads) == 1 else None
