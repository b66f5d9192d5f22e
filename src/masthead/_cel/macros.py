"""Macros: calls that the parser replaces by loops and conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

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

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_NODES", "MacroError", "expand", "expand_binding"]

MAX_NODES: Final = 50_000
"""The most nodes that macros may copy within one expression."""

_OLD_ACCUMULATOR: Final = "__result__"
_SORT_INPUT: Final = "@__sortBy_input__"
_UNUSED: Final = "#unused"


class MacroError(Exception):
    """The arguments of a macro are invalid.

    Attributes:
        offset: Where; -1 if the expansion is too large.
    """

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class _Expansion:
    """One expansion. All its nodes have the position of the macro."""

    def __init__(self, offset: int, copies: list[int]) -> None:
        self.at = offset
        self._copies = copies

    def accumulator(self) -> IdentNode:
        return IdentNode(self.at, ACCUMULATOR)

    def literal(self, value: bool | int) -> LiteralNode:
        return LiteralNode(self.at, value)

    def call(self, function: str, *args: Node, target: Node | None = None) -> CallNode:
        return CallNode(self.at, function, list(args), target)

    def loop(
        self, over: Node, variables: tuple[str, ...], start: Node, condition: Node, step: Node, result: Node
    ) -> ComprehensionNode:
        return ComprehensionNode(self.at, over, variables, ACCUMULATOR, start, condition, step, result)

    def bind(self, name: str, value: Node, result: Node) -> ComprehensionNode:
        nothing = ListNode(self.at, [])
        return ComprehensionNode(
            self.at, nothing, (_UNUSED,), name, value, self.literal(False), IdentNode(self.at, name), result
        )

    def copy(self, node: Node) -> Node:
        # Nested macros copy their targets, so that a short text could expand without limit.
        self._copies[0] += 1
        if self._copies[0] > MAX_NODES:
            raise MacroError(-1, f"expression expands to more than {MAX_NODES} nodes")
        return _COPIERS[type(node)](self, node)


_COPIERS: Final[dict[type, Callable[[_Expansion, Node], Node]]] = {}


def _copies(node_type: type) -> Callable[[Callable[..., Node]], Callable[..., Node]]:
    def register(function: Callable[..., Node]) -> Callable[..., Node]:
        _COPIERS[node_type] = function
        return function

    return register


@_copies(LiteralNode)
def _copy_literal(_expansion: _Expansion, node: LiteralNode) -> Node:
    return LiteralNode(node.offset, node.value)


@_copies(IdentNode)
def _copy_ident(_expansion: _Expansion, node: IdentNode) -> Node:
    return IdentNode(node.offset, node.name)


@_copies(MessageNode)
def _copy_message(expansion: _Expansion, node: MessageNode) -> Node:
    fields = [field._replace(value=expansion.copy(field.value)) for field in node.fields]
    return MessageNode(node.offset, node.name, fields)


@_copies(SelectNode)
def _copy_select(expansion: _Expansion, node: SelectNode) -> Node:
    operand = expansion.copy(node.operand)
    return SelectNode(node.offset, operand, node.field, is_test=node.is_test, is_optional=node.is_optional)


@_copies(CallNode)
def _copy_call(expansion: _Expansion, node: CallNode) -> Node:
    target = None if node.target is None else expansion.copy(node.target)
    return CallNode(node.offset, node.function, [expansion.copy(arg) for arg in node.args], target)


@_copies(ListNode)
def _copy_list(expansion: _Expansion, node: ListNode) -> Node:
    return ListNode(node.offset, [expansion.copy(item) for item in node.items], node.optionals)


@_copies(MapNode)
def _copy_map(expansion: _Expansion, node: MapNode) -> Node:
    entries = [(expansion.copy(key), expansion.copy(value), optional) for key, value, optional in node.entries]
    return MapNode(node.offset, entries)


@_copies(ComprehensionNode)
def _copy_comprehension(expansion: _Expansion, node: ComprehensionNode) -> Node:
    return ComprehensionNode(
        node.offset,
        expansion.copy(node.over),
        node.variables,
        node.accumulator,
        expansion.copy(node.start),
        expansion.copy(node.condition),
        expansion.copy(node.step),
        expansion.copy(node.result),
    )


_Expander: TypeAlias = "Callable[[_Expansion, Node, list[Node]], Node]"


def expand(offset: int, function: str, target: Node | None, args: list[Node], copies: list[int]) -> Node | None:
    """Expand a call, if it is a macro.

    Args:
        offset: Where the call is.
        function: The name.
        target: What a method is called on.
        args: The arguments.
        copies: How many nodes have been copied so far; counted on.

    Returns:
        The expansion; None if it is no macro.

    Raises:
        MacroError: If its arguments are invalid.
    """
    expansion = _Expansion(offset, copies)
    if target is None:
        return _expand_has(expansion, args[0]) if function == "has" and len(args) == 1 else None
    expander = _EXPANDERS.get((function, len(args)))
    return None if expander is None else expander(expansion, target, args)


def expand_binding(offset: int, args: list[Node]) -> Node:
    """Expand ``cel.bind(name, value, result)``.

    Raises:
        MacroError: If the name is none.
    """
    name, value, result = args
    if not isinstance(name, IdentNode):
        raise MacroError(name.offset, "cel.bind() variable names must be simple identifiers")
    return _Expansion(offset, [0]).bind(name.name, value, result)


def _expand_has(expansion: _Expansion, arg: Node) -> Node:
    if not isinstance(arg, SelectNode) or arg.is_test or arg.is_optional:
        raise MacroError(arg.offset, "invalid argument to has() macro")
    return SelectNode(expansion.at, arg.operand, arg.field, is_test=True)


def _variable(arg: Node, message: str) -> str:
    if not isinstance(arg, IdentNode) or arg.name.startswith("."):
        raise MacroError(arg.offset, message)
    # Older servers used another name, which is still refused.
    if arg.name in {ACCUMULATOR, _OLD_ACCUMULATOR}:
        raise MacroError(arg.offset, "iteration variable overwrites accumulator variable")
    return arg.name


def _variables(args: list[Node]) -> tuple[str, ...]:
    names = tuple(_variable(arg, "argument must be a simple name") for arg in args)
    if len(set(names)) < len(names):
        raise MacroError(args[1].offset, f"duplicate variable name: {names[0]}")
    return names


def _expand_all(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    return expansion.loop(
        target,
        _variables(args[:-1]),
        expansion.literal(True),
        expansion.call("@not_strictly_false", expansion.accumulator()),
        expansion.call("_&&_", expansion.accumulator(), args[-1]),
        expansion.accumulator(),
    )


def _expand_exists(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    return expansion.loop(
        target,
        _variables(args[:-1]),
        expansion.literal(False),
        expansion.call("@not_strictly_false", expansion.call("!_", expansion.accumulator())),
        expansion.call("_||_", expansion.accumulator(), args[-1]),
        expansion.accumulator(),
    )


def _expand_exists_one(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    # All items are visited, because a second match changes the result.
    counted = expansion.call("_+_", expansion.accumulator(), expansion.literal(1))
    return expansion.loop(
        target,
        _variables(args[:-1]),
        expansion.literal(0),
        expansion.literal(True),
        expansion.call("_?_:_", args[-1], counted, expansion.accumulator()),
        expansion.call("_==_", expansion.accumulator(), expansion.literal(1)),
    )


def _collect(
    expansion: _Expansion,
    target: Node,
    names: tuple[str, ...],
    condition: Node | None,
    step: Node,
    start: Node,
) -> Node:
    if condition is not None:
        step = expansion.call("_?_:_", condition, step, expansion.accumulator())
    return expansion.loop(target, names, start, expansion.literal(True), step, expansion.accumulator())


def _append(expansion: _Expansion, value: Node) -> Node:
    return expansion.call("_+_", expansion.accumulator(), ListNode(expansion.at, [value]))


def _expand_map(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    name = _variable(args[0], "argument is not an identifier")
    condition = args[1] if len(args) == 3 else None
    step = _append(expansion, args[-1])
    return _collect(expansion, target, (name,), condition, step, ListNode(expansion.at, []))


def _expand_filter(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    name = _variable(args[0], "argument is not an identifier")
    step = _append(expansion, args[0])
    return _collect(expansion, target, (name,), args[1], step, ListNode(expansion.at, []))


def _expand_transform_list(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    condition = args[2] if len(args) == 4 else None
    step = _append(expansion, args[-1])
    return _collect(expansion, target, _variables(args[:2]), condition, step, ListNode(expansion.at, []))


def _expand_transform_map(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:2])
    condition = args[2] if len(args) == 4 else None
    key = IdentNode(expansion.at, names[0])
    step = expansion.call("cel.@mapInsert", expansion.accumulator(), key, args[-1])
    return _collect(expansion, target, names, condition, step, MapNode(expansion.at, []))


def _expand_transform_map_entry(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    condition = args[2] if len(args) == 4 else None
    step = expansion.call("cel.@mapInsert", expansion.accumulator(), args[-1])
    return _collect(expansion, target, _variables(args[:2]), condition, step, MapNode(expansion.at, []))


def _bind_value(expansion: _Expansion, macro: str, target: Node, args: list[Node]) -> Node:
    if not isinstance(args[0], IdentNode):
        raise MacroError(args[0].offset, f"{macro}() variable name must be a simple identifier")
    # A copy, because the target is evaluated twice: once for its presence.
    value = expansion.call("value", target=expansion.copy(target))
    return expansion.bind(args[0].name, value, args[1])


def _if_present(expansion: _Expansion, target: Node, value: Node) -> Node:
    present = expansion.call("hasValue", target=target)
    return expansion.call("_?_:_", present, value, expansion.call("optional.none"))


def _expand_opt_map(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    bound = _bind_value(expansion, "optMap", target, args)
    return _if_present(expansion, target, expansion.call("optional.of", bound))


def _expand_opt_flat_map(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    return _if_present(expansion, target, _bind_value(expansion, "optFlatMap", target, args))


def _expand_sort_by(expansion: _Expansion, target: Node, args: list[Node]) -> Node:
    if isinstance(target, LiteralNode | MapNode):
        raise MacroError(
            target.offset,
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        )
    # The target is bound to a variable, so that it is evaluated once.
    keys = _expand_map(expansion, IdentNode(expansion.at, _SORT_INPUT), args)
    sorted_ = expansion.call("@sortByAssociatedKeys", keys, target=IdentNode(expansion.at, _SORT_INPUT))
    return expansion.bind(_SORT_INPUT, target, sorted_)


_EXPANDERS: Final[dict[tuple[str, int], _Expander]] = {
    ("all", 2): _expand_all,
    ("all", 3): _expand_all,
    ("exists", 2): _expand_exists,
    ("exists", 3): _expand_exists,
    ("exists_one", 2): _expand_exists_one,
    ("exists_one", 3): _expand_exists_one,
    ("existsOne", 3): _expand_exists_one,
    ("map", 2): _expand_map,
    ("map", 3): _expand_map,
    ("filter", 2): _expand_filter,
    ("transformList", 3): _expand_transform_list,
    ("transformList", 4): _expand_transform_list,
    ("transformMap", 3): _expand_transform_map,
    ("transformMap", 4): _expand_transform_map,
    ("transformMapEntry", 3): _expand_transform_map_entry,
    ("transformMapEntry", 4): _expand_transform_map_entry,
    ("optMap", 2): _expand_opt_map,
    ("optFlatMap", 2): _expand_opt_flat_map,
    ("sortBy", 2): _expand_sort_by,
}
