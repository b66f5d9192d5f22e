"""Literals of lists, maps and messages, whose entries may be optional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cel.costs import LIST_COST, STRUCT_COST
from masthead._cel.errors import EvaluationError
from masthead._cel.values import OptionalValue, Uint, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._cel.frames import Evaluator, Frame

__all__ = ["HASHABLE", "make_list", "make_map", "make_message"]

HASHABLE: Final = frozenset({str, int, bool, float, Uint, type(None)})
"""The types of values that can be keys of a map."""


def make_list(items: Sequence[Evaluator], optionals: frozenset[int]) -> Evaluator:
    """Return what evaluates a list.

    Args:
        items: The items.
        optionals: The positions of items that stand only if they have a value.
    """

    def literal(frame: Frame) -> Value:
        values: list[Value] = []
        for index, element in enumerate(items):
            value = element(frame)
            if index in optionals:
                if not isinstance(value, OptionalValue):
                    raise EvaluationError(f"cannot initialize optional list element from non-optional value {value}")
                if not value.has_value:
                    continue
                value = value.value
            values.append(value)
        frame[0] += LIST_COST
        return values

    return literal


def make_map(entries: Sequence[tuple[Evaluator, Evaluator, bool]], cost: int) -> Evaluator:
    """Return what evaluates a map.

    Args:
        entries: The key and the value of each entry, and whether it is optional.
        cost: What it costs, besides its entries.
    """

    def literal(frame: Frame) -> Value:
        values: dict[Value, Value] = {}
        for key_of, value_of, is_optional in entries:
            key = key_of(frame)
            value = value_of(frame)
            if type(key) not in HASHABLE:
                raise EvaluationError(f"unsupported key type: {key}")
            if is_optional:
                optional = _require_optional(key, value)
                if not optional.has_value:
                    # An absent optional entry removes an earlier entry of the same key.
                    values.pop(key, None)
                    continue
                value = optional.value
            values[key] = value
        frame[0] += cost
        return values

    return literal


def make_message(
    fields: Sequence[tuple[str, Evaluator, bool]], make_struct: Callable[[dict[str, Value]], Value]
) -> Evaluator:
    """Return what evaluates a message.

    Args:
        fields: The name and the value of each field, and whether it is optional.
        make_struct: Makes the message of its fields.
    """

    def message(frame: Frame) -> Value:
        values: dict[str, Value] = {}
        for name, value_of, is_optional in fields:
            value = value_of(frame)
            if is_optional:
                optional = _require_optional(name, value)
                if not optional.has_value:
                    continue
                value = optional.value
            values[name] = value
        frame[0] += STRUCT_COST
        return make_struct(values)

    return message


def _require_optional(key: Value, value: Value) -> OptionalValue:
    if not isinstance(value, OptionalValue):
        raise EvaluationError(f"cannot initialize optional entry '{key}' from non-optional value {value}")
    return value
