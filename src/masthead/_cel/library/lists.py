"""Lists, sets and optional values: CEL's extensions, and Kubernetes' functions of lists."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from masthead._cel.declarations import Function, function, method, overload
from masthead._cel.errors import NO_OVERLOAD, CostError, EvaluationError
from masthead._cel.library.operators import MAX_ITEMS, add, contains
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
    optional_of,
    param,
)
from masthead._cel.values import (
    MISSING,
    NONE,
    Duration,
    OptionalValue,
    Timestamp,
    Uint,
    Value,
    compare,
    equals,
    find,
    is_list,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS"]

_T: Final = param("T")
_A: Final = param("A")
_K: Final = param("K")
_V: Final = param("V")
_LIST: Final = list_of(_T)
_SUMMABLE: Final = (("int", INT), ("uint", UINT), ("double", DOUBLE), ("duration", DURATION))
_ZEROS: Final[dict[str, Value]] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_COMPARABLE: Final = (
    ("int", INT),
    ("uint", UINT),
    ("double", DOUBLE),
    ("bool", BOOL),
    ("duration", DURATION),
    ("timestamp", TIMESTAMP),
    ("string", STRING),
    ("bytes", BYTES),
)


# CEL's lists.


def _slice(items: Value, start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    # The order of the checks is that of the server's messages.
    if len(items) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return [items[index] for index in range(start, end)]


def _flatten(items: Value, depth: int = 1) -> list[Value]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat = list(items)
    # Each turn takes away one level; lists are no deeper than the expression that made them.
    while depth > 0 and any(map(is_list, flat)):
        flat = [inner for element in flat for inner in (element if is_list(element) else (element,))]
        if len(flat) > MAX_ITEMS:
            raise CostError
        depth -= 1
    return flat


def _sort_by(items: Value, keys: Value) -> list[Value]:
    if len(items) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(items)} and {len(keys)} elements respectively"
        )
    pairs = list(zip(keys, items, strict=True))
    # The first key decides, also in the message.
    if pairs and type(pairs[0][0]) not in _ORDERED:
        raise EvaluationError("list elements must be comparable")
    kinds: set[type] = {key.__class__ for key, _ in pairs}
    if len(kinds) > 1:
        raise EvaluationError("list elements must have the same type")
    return [item for _, item in sorted(pairs, key=lambda pair: _by_order(pair[0]))]


_by_order: Final = cmp_to_key(compare)
_ORDERED: Final = frozenset({int, Uint, float, bool, str, bytes, Duration, Timestamp})


def _sort(items: Value) -> list[Value]:
    return _sort_by(items, items)


def _range(count: int) -> list[Value]:
    if count > MAX_ITEMS:
        raise CostError
    return list(range(count))


def _reverse(items: Value) -> list[Value]:
    return list(items)[::-1]


def _distinct(items: Value) -> list[Value]:
    unique: list[Value] = []
    for item in items:
        # Quadratic, as the server is; the cost accounts for it.
        if not any(equals(item, other) for other in unique):
            unique.append(item)
    return unique


# Kubernetes' lists.


def _is_sorted(items: Value) -> bool:
    return all(compare(left, right) <= 0 for left, right in pairwise(items))


def _sum(zero: Value) -> Callable[[Value], Value]:
    def total(items: Value) -> Value:
        result = zero
        for item in items:
            result = add(result, item)
        return result

    return total


def _extreme(name: str, sign: int) -> Callable[[Value], Value]:
    def extreme(items: Value) -> Value:
        best: Value = MISSING
        for item in items:
            if best is MISSING or compare(best, item) == sign:
                best = item
        if best is MISSING:
            raise EvaluationError(f"{name} called on empty list")
        return best

    return extreme


def _index_of(items: Value, item: Value) -> int:
    for index, element in enumerate(items):
        if equals(element, item):
            return index
    return -1


def _last_index_of(items: Value, item: Value) -> int:
    for index in range(len(items) - 1, -1, -1):
        if equals(items[index], item):
            return index
    return -1


# Sets.


def _contains_all(items: Value, others: Value) -> bool:
    return all(contains(other, items) for other in others)


def _are_equivalent(items: Value, others: Value) -> bool:
    return _contains_all(items, others) and _contains_all(others, items)


def _intersect(items: Value, others: Value) -> bool:
    return any(contains(item, others) for item in items)


# Optional values.


def _of_non_zero(value: Value) -> OptionalValue:
    # Only values of the expression itself: an empty list of the object counts as a value.
    if value.__class__ in {list, dict}:
        return OptionalValue(value) if len(value) else NONE
    if isinstance(value, OptionalValue):
        return OptionalValue(value) if value.has_value else NONE
    if value is None or (type(value) in _ZERO_TYPES and not value):
        return NONE
    if isinstance(value, Duration) and value.nanos == 0:
        return NONE
    return OptionalValue(value)


_ZERO_TYPES: Final = frozenset({bool, int, Uint, float, str, bytes})


def _value_of(value: Value) -> Value:
    if not isinstance(value, OptionalValue):
        raise EvaluationError(NO_OVERLOAD)
    if not value.has_value:
        raise EvaluationError("optional.none() dereference")
    return value.value


def _has_value(value: Value) -> bool:
    if not isinstance(value, OptionalValue):
        raise EvaluationError(NO_OVERLOAD)
    return value.has_value


def _first(items: Value) -> OptionalValue:
    return OptionalValue(items[0]) if len(items) else NONE


def _last(items: Value) -> OptionalValue:
    return OptionalValue(items[len(items) - 1]) if len(items) else NONE


def _unwrap(items: Value) -> list[Value]:
    values: list[Value] = []
    for item in items:
        if not isinstance(item, OptionalValue):
            raise EvaluationError(f"value {item} is not optional")
        if item.has_value:
            values.append(item.value)
    return values


def _evaluated_by_compiler(*_args: Value) -> Value:
    raise EvaluationError(NO_OVERLOAD)


def insert(target: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    """Add an entry to a map that a macro builds.

    Raises:
        EvaluationError: If there is one with this key already, or it cannot be a key.
    """
    if type(key) not in {str, int, Uint, bool, float}:
        raise EvaluationError(f"unsupported key type: {type_name(key)}")
    # The macros never overwrite an entry.
    if find(target, key) is not MISSING:
        raise EvaluationError(f"insert failed: key {key} already exists")
    target[key] = value
    return target


def _insert_all(target: dict[Value, Value], entries: Value) -> dict[Value, Value]:
    for key in entries:
        insert(target, key, find(entries, key))
    return target


_MAP: Final = map_of(_K, _V)
_OPTIONAL: Final = optional_of(_V)

FUNCTIONS: Final[tuple[Function, ...]] = (
    function("slice", method("list_slice", (_LIST, INT, INT), _LIST, _slice)),
    function(
        "flatten",
        method("list_flatten", (list_of(_LIST),), _LIST, _flatten),
        method("list_flatten_int", (list_of(DYN), INT), list_of(DYN), _flatten),
    ),
    function(
        "sort",
        *(method(f"list_{kind.name}_sort", (list_of(kind),), list_of(kind), _sort) for _, kind in _COMPARABLE),
    ),
    function(
        "@sortByAssociatedKeys",
        *(
            method(f"list_{kind.name}_sortByAssociatedKeys", (_LIST, list_of(kind)), _LIST, _sort_by)
            for _, kind in _COMPARABLE
        ),
    ),
    function("lists.range", overload("lists_range", (INT,), list_of(INT), _range)),
    function("reverse", method("list_reverse", (_LIST,), _LIST, _reverse)),
    function("distinct", method("list_distinct", (_LIST,), _LIST, _distinct)),
    function(
        "isSorted",
        *(method(f"list_{name}_is_sorted_bool", (list_of(kind),), BOOL, _is_sorted) for name, kind in _COMPARABLE),
    ),
    function(
        "sum",
        *(method(f"list_{name}_sum_{name}", (list_of(kind),), kind, _sum(_ZEROS[name])) for name, kind in _SUMMABLE),
    ),
    function(
        "max",
        *(method(f"list_{name}_max_{name}", (list_of(kind),), kind, _extreme("max", -1)) for name, kind in _COMPARABLE),
    ),
    function(
        "min",
        *(method(f"list_{name}_min_{name}", (list_of(kind),), kind, _extreme("min", 1)) for name, kind in _COMPARABLE),
    ),
    function("indexOf", method("list_a_index_of_int", (list_of(_A), _A), INT, _index_of)),
    function("lastIndexOf", method("list_a_last_index_of_int", (list_of(_A), _A), INT, _last_index_of)),
    function("sets.contains", overload("list_sets_contains_list", (_LIST, _LIST), BOOL, _contains_all)),
    function("sets.equivalent", overload("list_sets_equivalent_list", (_LIST, _LIST), BOOL, _are_equivalent)),
    function("sets.intersects", overload("list_sets_intersects_list", (_LIST, _LIST), BOOL, _intersect)),
    function("optional.of", overload("optional_of", (_V,), _OPTIONAL, OptionalValue)),
    function("optional.ofNonZeroValue", overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero)),
    function("optional.none", overload("optional_none", (), _OPTIONAL, lambda: NONE)),
    function("optional.unwrap", overload("optional_unwrap", (list_of(_OPTIONAL),), list_of(_V), _unwrap)),
    function("unwrapOpt", method("optional_unwrapOpt", (list_of(_OPTIONAL),), list_of(_V), _unwrap)),
    function("value", method("optional_value", (_OPTIONAL,), _V, _value_of)),
    function("hasValue", method("optional_hasValue", (_OPTIONAL,), BOOL, _has_value)),
    function("or", method("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, _evaluated_by_compiler)),
    function("orValue", method("optional_orValue_value", (_OPTIONAL, _V), _V, _evaluated_by_compiler)),
    function("first", method("list_first", (list_of(_V),), _OPTIONAL, _first)),
    function("last", method("list_last", (list_of(_V),), _OPTIONAL, _last)),
    function(
        "cel.@mapInsert",
        overload("@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, insert),
        overload("@mapInsert_map_map", (_MAP, _MAP), _MAP, _insert_all),
    ),
)
