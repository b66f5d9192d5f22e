"""The estimate: the most that evaluating an expression can cost, before any value is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from masthead._cel.call_estimates import estimate_call
from masthead._cel.costs import LIST_COST, MAP_COST, STRUCT_COST
from masthead._cel.nodes import (
    ACCUMULATOR,
    CallNode,
    ComprehensionNode,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    MessageNode,
    Node,
    SelectNode,
)
from masthead._cel.ranges import ONE, UNKNOWN, ZERO, Range

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cel.types import Type

__all__ = ["Operand", "SizeOf", "estimate_cost"]

SizeOf: TypeAlias = "Callable[[tuple[str, ...]], int | None]"
"""The largest size of a value, by its path from a variable on; None if it is not known."""

_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


class _EntrySizes(NamedTuple):
    """The sizes of keys and values, or items, of a container."""

    is_list: bool
    key: Range
    value: Range


class _Variable(NamedTuple):
    """A variable of a loop: where its values come from, and how large they are."""

    path: tuple[str, ...]
    size: Range | None
    entries: _EntrySizes | None


class Operand(NamedTuple):
    """An operand of a call.

    Attributes:
        node: The operand.
        type: Its type.
        path: Where its value comes from; empty if it is computed.
        size: How large it is; None if that is not known.
        cost: What it costs.
    """

    node: Node
    type: Type
    path: tuple[str, ...]
    size: Range | None
    cost: Range


def estimate_cost(root: Node, size_of: SizeOf) -> int:
    """Return the most that evaluating a checked expression can cost.

    Args:
        root: The expression.
        size_of: The largest size of a value of a variable, by its path.
    """
    return _Estimator(size_of).cost(root).high


class _Estimator:
    def __init__(self, size_of: SizeOf) -> None:
        self._size_of = size_of
        # By the node's identity: nodes are not shared.
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _EntrySizes] = {}
        self._scopes: dict[str, list[_Variable]] = {}

    def cost(self, node: Node) -> Range:
        if isinstance(node, LiteralNode):
            return ZERO
        if isinstance(node, IdentNode):
            return self._ident(node)
        if isinstance(node, SelectNode):
            return self._select(node)
        if isinstance(node, CallNode):
            return self._call(node)
        if isinstance(node, ListNode):
            return self._list(node)
        if isinstance(node, MapNode):
            return self._map(node)
        if isinstance(node, MessageNode):
            return self._message(node)
        return self._binding(node) if node.is_binding else self._loop(node)

    # Variables and fields.

    def _variable(self, node: Node) -> _Variable | None:
        if not isinstance(node, IdentNode):
            return None
        found = self._scopes.get(node.name)
        return found[-1] if found else None

    def _ident(self, node: IdentNode) -> Range:
        variable = self._variable(node)
        self._paths[id(node)] = variable.path if variable else (node.name,)
        return ONE

    def _select(self, node: SelectNode) -> Range:
        if node.type_name:
            self._paths[id(node)] = (node.type_name,)
            return ONE
        # The operand first: its path is needed for that of the field.
        cost = self.cost(node.operand)
        if node.is_test:
            return cost
        if node.is_optional:
            # To the server it is a call.
            self._remember(node, self._size(node))
            return cost.plus(ONE)
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return cost.plus(ONE) if node.operand.type.kind in {"map", "struct", "param"} else cost

    def _path(self, node: Node) -> tuple[str, ...]:
        variable = self._variable(node)
        return variable.path if variable else self._paths.get(id(node), ())

    # Sizes.

    def _remember(self, node: Node, size: Range | None) -> None:
        if size is not None:
            self._sizes[id(node)] = size

    def _size(self, node: Node) -> Range | None:
        known = self._sizes.get(id(node)) or _literal_size(node)
        if known is not None:
            return known
        path = self._path(node)
        # The schema bounds the sizes of fields; without a path nothing is known.
        highest = self._size_of(path) if path else None
        if highest is not None:
            size = Range(0, highest)
            self._sizes[id(node)] = size
            return size
        if _is_scalar(node.type):
            return ONE
        variable = self._variable(node)
        return variable.size if variable else None

    def _size_or_unknown(self, node: Node) -> Range:
        return self._size(node) or UNKNOWN

    def _entry_sizes(self, node: Node) -> _EntrySizes | None:
        found = self._entries.get(id(node))
        if found is not None:
            return found
        variable = self._variable(node)
        return variable.entries if variable else None

    # Calls.

    def _operand(self, node: Node) -> Operand:
        cost = self.cost(node)
        path = self._path(node)
        # The size of an accumulator is that of its start value, not of a field.
        if path and path[0] == ACCUMULATOR:
            path = ()
        return Operand(node, node.type, path, self._size(node), cost)

    def _call(self, node: CallNode) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0]).plus(ONE)
            self._copy_sizes(node, node.args[0])
            return cost
        args = [self._operand(arg) for arg in node.args]
        # An expression that does not type-check has no cost.
        if not node.overloads:
            return ZERO
        if node.function in {"_&&_", "_||_"}:
            return _sum(args)
        if node.function == "_?_:_":
            return self._conditional(node, args)
        target = None if node.target is None else self._operand(node.target)
        cost, size = self._any_overload(node, target, args)
        self._remember(node, size)
        # The server does not count what decides between overloads; it takes the widest range.
        return cost if target is None else cost.plus(target.cost)

    def _conditional(self, node: CallNode, args: list[Operand]) -> Range:
        _, then, otherwise = args
        size = (then.size or UNKNOWN).union(otherwise.size or UNKNOWN)
        self._unite_entries(node, then.node, otherwise.node)
        self._remember(node, size)
        return args[0].cost.plus(then.cost.union(otherwise.cost))

    def _any_overload(self, node: CallNode, target: Operand | None, args: list[Operand]) -> tuple[Range, Range | None]:
        cost: Range | None = None
        size: Range | None = None
        for overload in node.overloads:
            one_cost, one_size = estimate_call(node.function, overload, target, args, self._size_of)
            one_cost = one_cost.plus(_sum(args))
            cost = one_cost if cost is None else cost.union(one_cost)
            if one_size is not None:
                size = one_size if size is None else size.union(one_size)
            if overload in {"add_list", "add_string", "add_bytes"}:
                self._unite_entries(node, args[0].node, args[1].node)
            # An item of a literal has a known size, and one of a field that of the schema.
            if overload in {"index_list", "index_map"}:
                size = self._index(node, overload)
            if size is None:
                size = self._size(node)
        return cost or ZERO, size

    def _index(self, node: CallNode, overload: str) -> Range | None:
        container = node.args[0]
        step = "@items" if overload == "index_list" else "@values"
        self._paths[id(node)] = (*self._path(container), step)
        entries = self._entry_sizes(container)
        return entries.value if entries else None

    def _unite_entries(self, node: Node, left: Node, right: Node) -> None:
        one, other = self._entry_sizes(left), self._entry_sizes(right)
        if one is not None and other is not None:
            self._entries[id(node)] = _EntrySizes(one.is_list, one.key.union(other.key), one.value.union(other.value))

    def _copy_sizes(self, node: Node, source: Node) -> None:
        self._remember(node, self._size(source))
        entries = self._entry_sizes(source)
        if entries is not None:
            self._entries[id(node)] = entries

    # Lists, maps and loops.

    def _list(self, node: ListNode) -> Range:
        cost = Range(LIST_COST, LIST_COST)
        items = [ZERO] if not node.items else []
        for item in node.items:
            cost = cost.plus(self.cost(item))
            items.append(self._size_or_unknown(item))
        self._entries[id(node)] = _EntrySizes(is_list=True, key=ONE, value=_union(items))
        return cost

    def _map(self, node: MapNode) -> Range:
        cost = Range(MAP_COST, MAP_COST)
        keys = [ZERO] if not node.entries else []
        values = [ZERO] if not node.entries else []
        for key, value, _ in node.entries:
            cost = cost.plus(self.cost(key)).plus(self.cost(value))
            keys.append(self._size_or_unknown(key))
            values.append(self._size_or_unknown(value))
        self._entries[id(node)] = _EntrySizes(is_list=False, key=_union(keys), value=_union(values))
        return cost

    def _message(self, node: MessageNode) -> Range:
        cost = Range(STRUCT_COST, STRUCT_COST)
        for field in node.fields:
            cost = cost.plus(self.cost(field.value))
        return cost

    def _push(self, name: str, variable: _Variable) -> None:
        self._scopes.setdefault(name, []).append(variable)

    def _push_items(self, node: ComprehensionNode) -> None:
        entries = self._entry_sizes(node.over)
        path = self._path(node.over)
        is_list = entries.is_list if entries else node.over.type.kind == "list"
        key = entries.key if entries else None
        value = entries.value if entries else None
        # With one variable, a loop over a map sees its keys.
        item = _Variable((*path, "@items" if is_list else "@values"), value, None)
        if len(node.variables) == 2:
            self._push(node.variables[0], _Variable((*path, "@indices" if is_list else "@keys"), key, None))
            self._push(node.variables[1], item)
        else:
            self._push(node.variables[0], item if is_list else _Variable((*path, "@keys"), key, None))

    def _loop(self, node: ComprehensionNode) -> Range:
        cost = self.cost(node.over).plus(self.cost(node.start))
        self._push_value(node.accumulator, node.start)
        self._push_items(node)
        condition = self.cost(node.condition)
        step = self.cost(node.step)
        for variable in node.variables:
            self._scopes[variable].pop()
        cost = cost.plus(self.cost(node.result))
        self._scopes[node.accumulator].pop()
        # An unbounded list makes the cost of a loop exceed every limit.
        count = self._size_or_unknown(node.over)
        if isinstance(node.start, LiteralNode):
            self._remember(node, self._size(node.start))
        else:
            self._remember(node, count)
            entries = self._entry_sizes(node.step)
            if entries is not None:
                self._entries[id(node)] = entries
        return cost.plus(count.times(step.plus(condition)))

    def _push_value(self, name: str, value: Node) -> None:
        self._push(name, _Variable(self._path(value), self._size(value), self._entry_sizes(value)))

    def _binding(self, node: ComprehensionNode) -> Range:
        cost = self.cost(node.over).plus(self.cost(node.start))
        self._push_value(node.accumulator, node.start)
        cost = cost.plus(self.cost(node.result))
        self._scopes[node.accumulator].pop()
        self._copy_sizes(node, node.result)
        return cost


def _literal_size(node: Node) -> Range | None:
    if isinstance(node, LiteralNode):
        size = len(node.value) if isinstance(node.value, str | bytes) else 1
    elif isinstance(node, ListNode):
        size = len(node.items)
    elif isinstance(node, MapNode):
        size = len(node.entries)
    else:
        return None
    return Range(size, size)


def _is_scalar(type_: Type) -> bool:
    return type_.kind in _SCALARS or (type_.is_optional and _is_scalar(type_.params[0]))


def _sum(args: list[Operand]) -> Range:
    total = ZERO
    for arg in args:
        total = total.plus(arg.cost)
    return total


def _union(sizes: list[Range]) -> Range:
    union = sizes[0]
    for siz in sizes[1:]:
        union = union.union(siz)
    return union
