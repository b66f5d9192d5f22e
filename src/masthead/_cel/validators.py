"""Literals that are wrong whatever the values are: durations, timestamps, patterns and formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cel.errors import CelError, EvaluationError, Issue
from masthead._cel.library.conversions import to_duration, to_timestamp
from masthead._cel.library.formatting import BINARY, DECIMAL, FIXED, HEX, OCTAL, SCIENTIFIC, TEXT, clauses
from masthead._cel.nodes import CallNode, ListNode, LiteralNode, MapNode, Node, children
from masthead._regexp.pattern import compile_pattern
from masthead._regexp.syntax import PatternError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead._cel.types import Type
    from masthead._cel.values import Value

__all__ = ["literal_issues"]


def literal_issues(root: Node) -> list[Issue]:
    """Return the errors of literals in a checked expression."""
    issues: list[Issue] = []
    waiting: list[tuple[Node, bool]] = [(root, False)]
    while waiting:
        node, is_formatted = waiting.pop()
        if isinstance(node, CallNode):
            issues += _argument_issues(node)
            issues += _format_issues(node)
            is_formatted = is_formatted or node.function == "format"
        elif not is_formatted:
            # Arguments of a format may have any types.
            issues += _aggregate_issues(node)
        waiting += [(child, is_formatted) for child in children(node)]
    return issues


def _aggregate_issues(node: Node) -> Iterator[Issue]:
    """Items of a list must have one type, and so must keys and values of a map."""
    if isinstance(node, ListNode):
        types = [_entry_type(item, is_optional=index in node.optionals) for index, item in enumerate(node.items)]
        yield from list(_differences(node.items, types))[:1]
    elif isinstance(node, MapNode):
        keys = [key for key, _, _ in node.entries]
        yield from _differences(keys, [key.type for key in keys])
        values = [value for _, value, _ in node.entries]
        types = [_entry_type(value, is_optional=optional) for _, value, optional in node.entries]
        yield from _differences(values, types)


def _entry_type(node: Node, *, is_optional: bool) -> Type:
    return node.type.params[0] if is_optional and node.type.params else node.type


def _differences(nodes: list[Node], types: list[Type]) -> Iterator[Issue]:
    for node, type_ in zip(nodes, types, strict=True):
        if not _is_equivalent(types[0], type_):
            yield Issue(node.offset, f"expected type '{types[0]}' but found '{type_}'")


def _is_equivalent(left: Type, right: Type) -> bool:
    if left.kind != right.kind or len(left.params) != len(right.params):
        return False
    return all(map(_is_equivalent, left.params, right.params))


def _argument_issues(node: CallNode) -> Iterator[Issue]:
    check = _CHECKS.get(node.function)
    if check is None or not node.args or not isinstance(node.args[0], LiteralNode):
        return
    try:
        check(node.args[0].value)
    except (CelError, PatternError):
        yield Issue(node.args[0].offset, f"invalid {node.function} argument")


def _check_pattern(value: Value) -> None:
    if isinstance(value, str):
        compile_pattern(value)


_CHECKS: Final[dict[str, Callable[[Value], object]]] = {
    "duration": to_duration,
    "timestamp": to_timestamp,
    "matches": _check_pattern,
}

_SCALARS: Final = frozenset(
    {"int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"}
)
_CLAUSES: Final = {
    "s": (_SCALARS | {"list", "map"}, TEXT),
    "d": (frozenset({"int", "uint"}), DECIMAL),
    "f": (frozenset({"double", "string"}), FIXED),
    "e": (frozenset({"double", "string"}), SCIENTIFIC),
    "b": (frozenset({"int", "uint", "bool"}), BINARY),
    "x": (frozenset({"int", "uint", "string", "bytes"}), HEX),
    "X": (frozenset({"int", "uint", "string", "bytes"}), HEX),
    "o": (frozenset({"int", "uint"}), OCTAL),
}


def _format_issues(node: CallNode) -> Iterator[Issue]:
    if node.function != "format" or not isinstance(node.target, LiteralNode) or len(node.args) != 1:
        return
    values = node.args[0]
    if not isinstance(values, ListNode):
        return
    used = 0
    try:
        for _, letter, _ in clauses(node.target.value, len(values.items)):
            if not letter:
                continue
            used += 1
            wrong = _first_wrong(values.items[used - 1], *_CLAUSES[letter])
            if wrong is not None:
                yield wrong
                return
    except EvaluationError as error:
        yield Issue(node.offset, str(error))
        return
    if len(values.items) > used:
        yield Issue(
            node.offset,
            f"too many arguments supplied to string.format (expected {used}, got {len(values.items)})",
        )


def _first_wrong(node: Node, kinds: frozenset[str], message: str) -> Issue | None:
    if not node.type.is_dynamic and node.type.kind not in kinds:
        return Issue(node.offset, f"error during formatting: {message}{node.type.name}")
    if message is TEXT and isinstance(node, ListNode | MapNode):
        for child in children(node):
            if (wrong := _first_wrong(child, kinds, message)) is not None:
                return wrong
    return None
