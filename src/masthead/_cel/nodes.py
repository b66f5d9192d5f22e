"""Nodes: what the parser makes of an expression. Macros are expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from masthead._cel.types import Type
    from masthead._cel.values import Value

__all__ = [
    "ACCUMULATOR",
    "CallNode",
    "ComprehensionNode",
    "FieldEntry",
    "IdentNode",
    "ListNode",
    "LiteralNode",
    "MapNode",
    "MessageNode",
    "Node",
    "SelectNode",
    "children",
    "depth_of",
]

ACCUMULATOR: Final = "@result"
"""The variable in which a macro collects its result; no identifier can have this name."""


class _Base:
    """What all nodes have.

    Attributes:
        offset: Where it is, for errors.
        type: Its type; set by the checker.
    """

    __slots__ = ("offset", "type")

    type: Type

    def __init__(self, offset: int) -> None:
        self.offset = offset


class LiteralNode(_Base):
    """A constant."""

    __slots__ = ("value",)

    def __init__(self, offset: int, value: Value) -> None:
        super().__init__(offset)
        self.value = value


class IdentNode(_Base):
    """A variable, or the name of a type.

    Attributes:
        name: The name.
        is_type: Whether it names a type; set by the checker.
    """

    __slots__ = ("is_type", "name")

    def __init__(self, offset: int, name: str) -> None:
        super().__init__(offset)
        self.name = name
        self.is_type = False


class FieldEntry(NamedTuple):
    """A field of a message: its place, its name, its value, and whether it is optional."""

    offset: int
    name: str
    value: Node
    is_optional: bool


class MessageNode(_Base):
    """A message: ``Type{field: value}``.

    Attributes:
        name: The name of its type.
        fields: The fields.
    """

    __slots__ = ("fields", "name")

    def __init__(self, offset: int, name: str, fields: list[FieldEntry]) -> None:
        super().__init__(offset)
        self.name = name
        self.fields = fields


class SelectNode(_Base):
    """A field: ``operand.field``, ``operand.?field``, or ``has(operand.field)``.

    Attributes:
        operand: The object with the field.
        field: The field's name.
        is_test: Whether only its presence is tested.
        is_optional: Whether the result is optional.
        type_name: The full name of a type, if the checker resolves the selection to one.
    """

    __slots__ = ("field", "is_optional", "is_test", "operand", "type_name")

    def __init__(
        self, offset: int, operand: Node, field: str, *, is_test: bool = False, is_optional: bool = False
    ) -> None:
        super().__init__(offset)
        self.operand = operand
        self.field = field
        self.is_test = is_test
        self.is_optional = is_optional
        self.type_name = ""


class CallNode(_Base):
    """A function, a method or an operator.

    Attributes:
        function: The name; operators are called ``_+_``.
        target: What a method is called on; None for a function.
        args: The arguments.
        overloads: The ids of the overloads that may be meant; set by the checker.
    """

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, offset: int, function: str, args: list[Node], target: Node | None = None) -> None:
        super().__init__(offset)
        self.function = function
        self.args = args
        self.target = target
        self.overloads: list[str] = []

    @property
    def operands(self) -> list[Node]:
        """The target, if there is one, and the arguments."""
        return self.args if self.target is None else [self.target, *self.args]


class ListNode(_Base):
    """A list literal; items whose index is in `optionals` stand only if they have a value."""

    __slots__ = ("items", "optionals")

    def __init__(self, offset: int, items: list[Node], optionals: frozenset[int] = frozenset()) -> None:
        super().__init__(offset)
        self.items = items
        self.optionals = optionals


class MapNode(_Base):
    """A map literal: keys, values, and whether the entry is optional."""

    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[tuple[Node, Node, bool]]) -> None:
        super().__init__(offset)
        self.entries = entries


class ComprehensionNode(_Base):
    """A loop, the expansion of a macro.

    The accumulator starts with `start`. For each item of `over`, as long as `condition` holds, it becomes the value of
    `step`. In the end the value is that of `result`. A loop over nothing binds a variable.

    Attributes:
        variables: The names of the item, or of key and value.
        accumulator: The name of the accumulator.
    """

    __slots__ = ("accumulator", "condition", "over", "result", "start", "step", "variables")

    def __init__(
        self,
        offset: int,
        over: Node,
        variables: tuple[str, ...],
        accumulator: str,
        start: Node,
        condition: Node,
        step: Node,
        result: Node,
    ) -> None:
        super().__init__(offset)
        self.over = over
        self.variables = variables
        self.accumulator = accumulator
        self.start = start
        self.condition = condition
        self.step = step
        self.result = result

    @property
    def is_binding(self) -> bool:
        """Whether it only gives a value a name."""
        return self.accumulator != ACCUMULATOR


def children(node: Node) -> list[Node]:
    """Return the nodes that a node consists of."""
    if isinstance(node, SelectNode):
        return [node.operand]
    if isinstance(node, CallNode):
        return node.operands
    if isinstance(node, ListNode):
        return node.items
    if isinstance(node, MapNode):
        return [part for key, value, _ in node.entries for part in (key, value)]
    if isinstance(node, MessageNode):
        return [field.value for field in node.fields]
    if isinstance(node, ComprehensionNode):
        return [node.over, node.start, node.condition, node.step, node.result]
    return []


def depth_of(root: Node) -> int:
    """Return how deep the nodes of an expression are nested, without recursion."""
    level: list[Node] = [root]
    depth = 0
    while level:
        depth += 1
        level = [child for node in level for child in children(node)]
    return depth


Node: TypeAlias = LiteralNode | IdentNode | SelectNode | CallNode | ListNode | MapNode | MessageNode | ComprehensionNode
