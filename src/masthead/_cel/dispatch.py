"""Selection of a call's implementation: at compile time, or by the types of the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.values import (
    Duration,
    OptionalValue,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    is_list,
    is_map,
    type_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cel.declarations import Function, Overload
    from masthead._cel.nodes import CallNode
    from masthead._cel.types import Type

__all__ = ["bind"]

_EXACT: Final[dict[str, type]] = {
    "bool": bool,
    "int": int,
    "uint": Uint,
    "double": float,
    "string": str,
    "bytes": bytes,
    "null": type(None),
    "duration": Duration,
    "timestamp": Timestamp,
    "type": TypeValue,
}


# The types for which a function is defined, regardless of its other arguments; the server's error for others is
# shorter.
_NUMBERS: Final = frozenset({"int", "uint", "double"})
_TIMES: Final = frozenset({"google.protobuf.Duration", "google.protobuf.Timestamp"})
_TEXTS: Final = frozenset({"string", "bytes"})
_ORDERED: Final = _NUMBERS | _TIMES | _TEXTS | {"bool"}
_DEFINED_FOR: Final = {
    "_+_": _NUMBERS | _TIMES | _TEXTS | {"list"},
    "_-_": _NUMBERS | _TIMES,
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset({"int", "uint"}),
    "-_": frozenset({"bool", "int", "double", "google.protobuf.Duration"}),
    "_<_": _ORDERED,
    "_<=_": _ORDERED,
    "_>_": _ORDERED,
    "_>=_": _ORDERED,
    "size": _TEXTS | {"list", "map"},
    "matches": frozenset({"string"}),
    "sort": frozenset({"list"}),
    "@sortByAssociatedKeys": frozenset({"list"}),
}
_RECEIVERS: Final = _TIMES | {"string"}
_UNGUARDED: Final = frozenset({"contains", "endsWith", "startsWith"})


def bind(node: CallNode, functions: Mapping[str, Function], *, is_optimized: bool = False) -> Callable[..., Value]:
    """Return the implementation of a checked call.

    Args:
        node: The call.
        functions: All functions, by name.
        is_optimized: Whether the server replaces it by a special one, whose errors about types are shorter.
    """
    known = functions[node.function].overloads
    candidates = [overload for overload in known if overload.id in node.overloads]
    call = candidates[0].call
    # With dynamic operands the overload is chosen by the values.
    is_dynamic = any(operand.type.kind == "dyn" for operand in node.operands)
    if is_dynamic and node.function in _DEFINED_FOR:
        dispatch = _guard_types(node.function, candidates, is_silent=True)
        return dispatch if is_optimized else _check_result(node.function, dispatch)
    if all(candidate.call is call for candidate in candidates) and node.function.startswith(("_", "@", "-", "!")):
        # Operators check the types themselves.
        return call
    # The checker has proven the types.
    if len(candidates) == 1 and not is_dynamic:
        return call
    is_silent = is_optimized or node.function in _UNGUARDED
    return _guard_types(node.function, candidates, is_silent=is_silent)


def _guard_types(function: str, candidates: list[Overload], *, is_silent: bool) -> Callable[..., Value]:
    def dispatch(*values: Value) -> Value:
        for candidate in candidates:
            if all(map(_matches, candidate.args, values)):
                return candidate.call(*values)
        if is_silent:
            raise EvaluationError(NO_OVERLOAD)
        names = list(map(type_name, values))
        signature = f"{function}({', '.join(names)})"
        # The server writes this one signature as a method.
        if function == "flatten":
            signature = f"{names[0]}.flatten({', '.join(names[1:])})"
        raise EvaluationError(f"{NO_OVERLOAD}: {signature}")

    return dispatch


def _check_result(function: str, call: Callable[..., Value]) -> Callable[..., Value]:
    defined_for = _DEFINED_FOR[function]

    def check(*values: Value) -> Value:
        name = type_name(values[0])
        if name not in defined_for:
            # Receivers have methods of their own in Go, whose error does not name the operator.
            raise EvaluationError(NO_OVERLOAD if name in _RECEIVERS else f"{NO_OVERLOAD}: {function}")
        return call(*values)

    return check


def _matches(expected: Type, value: Value) -> bool:
    kind = expected.kind
    if kind in _EXACT:
        return type(value) is _EXACT[kind]
    if kind == "list":
        # As the server: the first item speaks for all.
        return is_list(value) and (not len(value) or _matches(expected.params[0], value[0]))
    if kind == "map":
        return is_map(value)
    if expected.is_optional:
        return isinstance(value, OptionalValue)
    return kind in {"dyn", "param"} or type_name(value) == expected.name
