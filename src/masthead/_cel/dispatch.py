"""Which implementation a call means: known at once, or found by the types of the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.library.catalog import standard_functions
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
    from collections.abc import Callable

    from masthead._cel.declarations import Overload
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


def bind(node: CallNode) -> Callable[..., Value]:
    """Return the implementation of a checked call."""
    known = standard_functions()[node.function].overloads
    candidates = [each for each in known if each.id in node.overloads]
    call = candidates[0].call
    if all(each.call is call for each in candidates) and node.function.startswith(("_", "@", "-", "!")):
        # Operators look at the types themselves.
        return call
    if len(candidates) == 1 and not any(each.type.kind == "dyn" for each in node.operands):
        return call
    return _guarded(node.function, candidates)


def _guarded(function: str, candidates: list[Overload]) -> Callable[..., Value]:
    def dispatch(*values: Value) -> Value:
        for each in candidates:
            if all(map(_matches, each.args, values)):
                return each.call(*values)
        names = ", ".join(map(type_name, values))
        raise EvaluationError(f"{NO_OVERLOAD}: {function}({names})")

    return dispatch


def _matches(expected: Type, value: Value) -> bool:
    kind = expected.kind
    if kind in _EXACT:
        return type(value) is _EXACT[kind]
    if kind == "list":
        return is_list(value)
    if kind == "map":
        return is_map(value)
    if expected.is_optional:
        return isinstance(value, OptionalValue)
    return kind in {"dyn", "param"} or type_name(value) == expected.name
