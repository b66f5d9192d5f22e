"""Shard selectors: which hashes of a metadata field a list or watch is about, with the messages of kube-apiserver.

A selector is a CEL expression that is parsed, never evaluated: ``shardRange(object.metadata.uid, START, END)``, or
several joined by ``||``. A bound is ``0x`` and 16 hexadecimal digits; the end is exclusive, and 2**64 has 17.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._cel.errors import CompileError
from masthead._cel.nodes import (
    CallNode,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    MessageNode,
    SelectNode,
)
from masthead._cel.parser import parse as parse_expression
from masthead._cel.values import Uint
from masthead._meta.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead._cel.nodes import Node

__all__ = ["NAMESPACE", "UID", "HashRange", "ShardSelector", "ShardSelectorError", "hash_field", "parse"]

UID: Final = "object.metadata.uid"
NAMESPACE: Final = "object.metadata.namespace"
_END: Final = 1 << 64
_DIGITS: Final = 16
_HEXADECIMAL: Final = frozenset("0123456789abcdef")
_SPACES: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""What Go's strings.TrimSpace removes."""
_KINDS: Final[dict[type, int]] = {
    CallNode: 1,
    IdentNode: 3,
    ListNode: 4,
    LiteralNode: 5,
    MapNode: 6,
    SelectNode: 7,
    MessageNode: 8,
}
"""The numbers of the kinds of expressions in cel-go."""
_GO_TYPES: Final = {
    bool: "bool",
    int: "int64",
    Uint: "uint64",
    float: "float64",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
}
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


class ShardSelectorError(ValueError):
    """A selector is invalid; the message is kube-apiserver's."""


class HashRange(NamedTuple):
    """A range of hashes of a field.

    Attributes:
        field: `UID` or `NAMESPACE`.
        start: The first hash.
        end: The hash behind the last one.
    """

    field: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"shardRange({self.field}, '{_hexadecimal(self.start)}', '{_hexadecimal(self.end)}')"


class ShardSelector:
    """Selects hashes of a field.

    Args:
        ranges: At least one, all of one field; they may overlap.

    Attributes:
        is_by_uid: Whether the field is the uid; otherwise it is the namespace.
    """

    def __init__(self, ranges: tuple[HashRange, ...]) -> None:
        self.is_by_uid = ranges[0].field == UID
        self._ranges = ranges
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in _union(ranges):
            self._starts.append(start)
            self._ends.append(end)

    def __str__(self) -> str:
        return " || ".join(map(str, self._ranges))

    def matches(self, number: int) -> bool:
        """Whether it selects an object whose field has a hash."""
        # The ranges do not overlap any more, so only the last one that starts before the hash can hold it.
        index = bisect_right(self._starts, number) - 1
        return index >= 0 and number < self._ends[index]

    @staticmethod
    def hash(value: str) -> int:
        """The hash of a field's value."""
        return hash_field(value)

    @staticmethod
    @functools.lru_cache(4096)
    def hash_namespace(namespace: str) -> int:
        """The hash of a namespace, of which many objects have the same."""
        return hash_field(namespace)


def hash_field(value: str) -> int:
    """The hash of a field's value: FNV-1a with 64 bits."""
    number = _FNV_OFFSET
    for byte in value.encode():
        number = ((number ^ byte) * _FNV_PRIME) & (_END - 1)
    return number


def parse(text: str) -> ShardSelector:
    """Parse a selector.

    Raises:
        ShardSelectorError: If it is invalid.
    """
    source = text.strip(_SPACES)
    if not source:
        raise ShardSelectorError("empty shard selector is not allowed; omit the parameter for unfiltered lists")
    try:
        node = parse_expression(source, is_plain=True)
    except CompileError as error:
        raise ShardSelectorError(f"CEL parse error: {_first_problem(error)}") from None
    ranges = tuple(_ranges(node))
    for interval in ranges:
        if interval.field != ranges[0].field:
            fields = f"{quoted(ranges[0].field)} and {quoted(interval.field)}"
            raise ShardSelectorError(f"all shard ranges must use the same field, got {fields}")
    return ShardSelector(ranges)


def _first_problem(error: CompileError) -> str:
    """The error that cel-go reports first: it looks for others only in what it could parse."""
    # Syntax errors come from the parser, all others from later passes.
    messages = [issue.message for issue in error.issues]
    return next((message for message in messages if message.startswith("Syntax error")), messages[0])


def _ranges(node: Node) -> Iterator[HashRange]:
    if not isinstance(node, CallNode):
        expected = "expected shardRange() call or || operator"
        raise ShardSelectorError(f"unexpected expression kind {_kind(node)}; {expected}")
    # The operator nests to the left, and may have parentheses; their order does not matter.
    if node.function == "_||_":
        for arg in node.args:
            yield from _ranges(arg)
    elif node.function == "shardRange":
        yield _range(node.args)
    else:
        problem = f"unsupported function {quoted(node.function)}"
        raise ShardSelectorError(f"{problem}; only shardRange() and || are allowed")


def _range(args: list[Node]) -> HashRange:
    if len(args) != 3:
        raise ShardSelectorError(f"shardRange() requires exactly 3 arguments, got {len(args)}")
    field = _path(args[0])
    if field not in {UID, NAMESPACE}:
        raise ShardSelectorError(f"unsupported field path {quoted(field)}; supported: {UID}, {NAMESPACE}")
    start, end = _bound(args[1], "hexStart"), _bound(args[2], "hexEnd")
    # An empty range would select nothing, without a sign of the mistake.
    if start >= end:
        problem = f"start {_hexadecimal(start)} must be less than end {_hexadecimal(end)}"
        raise ShardSelectorError(f"shard range {problem}")
    return HashRange(field, start, end)


def _path(node: Node) -> str:
    names: list[str] = []
    while isinstance(node, SelectNode):
        names.append(node.field)
        node = node.operand
    if not isinstance(node, IdentNode):
        expected = "expected field path (e.g. object.metadata.uid)"
        raise ShardSelectorError(f"shardRange() first argument: {expected}, got expression kind {_kind(node)}")
    return ".".join([node.name, *reversed(names)])


def _bound(node: Node, name: str) -> int:
    if not isinstance(node, LiteralNode):
        expected = f"{name} must be a string literal (e.g. '0xff')"
        raise ShardSelectorError(f"{expected}, got expression kind {_kind(node)}")
    text = node.value
    if not isinstance(text, str):
        raise ShardSelectorError(f"{name} must be a string literal, got {_GO_TYPES[type(text)]}")
    if problem := _bound_problem(text):
        raise ShardSelectorError(f"{name}{problem}")
    return int(text, 16)


def _bound_problem(text: str) -> str:
    """Return the problem of a bound; empty if it is valid."""
    if not text.startswith("0x"):
        return f" must have '0x' prefix, got {quoted(text)}"
    digits = text[2:]
    if not digits:
        return ": hex value is required after '0x'"
    length = len(digits.encode())
    if length > _DIGITS + 1:
        return f": hex value too long ({length} chars, max {_DIGITS + 1}): {quoted(digits)}"
    for digit in digits:
        if digit not in _HEXADECIMAL:
            return f": invalid hex character {quoted(digit)} in {quoted(text)}"
    # 2^64, the exclusive end of the last range, is the only number with 17 digits.
    if length > _DIGITS:
        limit = _hexadecimal(_END)
        return "" if text == limit else f": 17-digit hex value must be '{limit}' (2^64), got {quoted(text)}"
    if length < _DIGITS:
        padded = quoted(f"0x{digits.zfill(_DIGITS)}")
        return f" must be a 0x-prefixed 16-digit hex value, got {quoted(text)} (did you mean {padded}?)"
    return ""


def _kind(node: Node) -> int:
    return _KINDS[type(node)]


def _hexadecimal(number: int) -> str:
    return f"0x{number:016x}"


def _union(ranges: Iterable[HashRange]) -> list[tuple[int, int]]:
    """Return the ranges in order, with overlapping and adjacent ones merged."""
    found: list[tuple[int, int]] = []
    for _, start, end in sorted(ranges):
        # Sorted by start, a range can only join the one before it.
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
