"""The compiler: from checked nodes to Python closures.

A closure takes the frame of an evaluation: its cost so far, and its variables. Costs are those of Kubernetes; constant
costs are added in one step.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._cel.attributes import index_value, present, select_optional, select_value, test_value
from masthead._cel.comprehensions import Loop, compile_loop
from masthead._cel.costs import MAP_COST, cost_of_call
from masthead._cel.dispatch import bind
from masthead._cel.errors import NO_OVERLOAD, CelError, CostError, EvaluationError
from masthead._cel.literals import HASHABLE, make_list, make_map, make_message
from masthead._cel.logic import COMPARISONS, all_of, any_of, compare, compare_numbers, compare_text
from masthead._cel.nodes import (
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
from masthead._cel.values import OptionalValue, TypeValue, Value, equals
from masthead._regexp.pattern import compile_pattern
from masthead._regexp.syntax import PatternError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._cel.environment import CelEnvironment
    from masthead._cel.frames import Evaluator, Frame

__all__ = ["ProgramError", "compile_node"]

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_NOT_CONSTANT: Final = object()


class ProgramError(CelError):
    """An expression is well typed, but a constant part of it has no value."""


def compile_node(
    root: Node, variables: Sequence[str], limit: int, environment: CelEnvironment
) -> tuple[Evaluator, int]:
    """Compile a checked expression.

    Args:
        root: The expression.
        variables: The names of its variables; they stand in this order in the frame, behind the cost.
        limit: The most that an evaluation may cost.
        environment: The functions and messages.

    Returns:
        The closure, and the length of the frame that it needs.

    Raises:
        ProgramError: If a constant part of it has no value.
    """
    compiler = _Compiler(variables, limit, environment)
    return compiler.compile(root), compiler.size


class _Compiler:
    def __init__(self, variables: Sequence[str], limit: int, environment: CelEnvironment) -> None:
        self._environment = environment
        self.limit = limit
        # Slot 0 of a frame is the cost so far.
        self.size = 1 + len(variables)
        # A stack per name: the variable of an inner loop may shadow an outer one.
        self._slots: dict[str, list[int]] = {name: [index] for index, name in enumerate(variables, start=1)}
        self._compilers: dict[type, Callable[..., Evaluator]] = {
            LiteralNode: self._literal,
            IdentNode: self._ident,
            SelectNode: self._select,
            CallNode: self._call,
            ListNode: self._list,
            MapNode: self._map,
            MessageNode: self._message,
            ComprehensionNode: self._comprehension,
        }

    def compile(self, node: Node) -> Evaluator:
        """Compile a node."""
        constant = self._constant(node)
        if constant is not _NOT_CONSTANT:
            return lambda _frame: constant
        return self._compilers[type(node)](node)

    def declare(self, name: str) -> int:
        """Make room for a variable; it hides others of its name."""
        slot = self.size
        self.size += 1
        self._slots.setdefault(name, []).append(slot)
        return slot

    def forget(self, name: str) -> None:
        """End the scope of a variable."""
        self._slots[name].pop()

    # Constants.

    def _constant(self, node: Node) -> Value:
        """Evaluate a constant expression; lists, maps and conversions are evaluated once."""
        if isinstance(node, LiteralNode):
            return node.value
        if isinstance(node, IdentNode) and node.is_type:
            return TypeValue(node.name)
        if isinstance(node, SelectNode) and node.type_name:
            return TypeValue(node.type_name)
        if isinstance(node, ListNode) and not node.optionals:
            # A list of constants is built once; evaluations share it, because nothing modifies a value.
            items = [self._constant(element) for element in node.items]
            return _NOT_CONSTANT if _NOT_CONSTANT in items else items
        if isinstance(node, CallNode) and node.function in _CONVERSIONS and len(node.args) == 1:
            return self._constant_conversion(node)
        return _NOT_CONSTANT

    def _constant_conversion(self, node: CallNode) -> Value:
        if self._constant(node.args[0]) is _NOT_CONSTANT or node.target is not None:
            return _NOT_CONSTANT
        try:
            # The frame has only a cost, which a constant does not need.
            return self._call(node)([0])
        except EvaluationError as error:
            raise ProgramError(str(error)) from None

    def _literal(self, node: LiteralNode) -> Evaluator:
        value = node.value
        return lambda _frame: value

    # Attributes: variables, fields and indices. The first costs 1, and each field 1.

    def _is_attribute(self, node: Node) -> bool:
        if isinstance(node, CallNode):
            return node.function in {"_[_]", "_[?_]"}
        return isinstance(node, IdentNode | SelectNode) and self._constant(node) is _NOT_CONSTANT

    def _free(self, node: Node) -> Evaluator:
        """Compile a part of another attribute, whose first step is free."""
        if not self._is_attribute(node):
            return self.compile(node)
        return self._attribute(node, 0)

    def _attribute(self, node: Node, base: int) -> Evaluator:
        if isinstance(node, IdentNode):
            return self._ident(node, base)
        if isinstance(node, SelectNode):
            return self._select(node, base)
        assert isinstance(node, CallNode)
        return self._index(node, base)

    def _operand(self, node: Node, base: int) -> Evaluator:
        """Compile what a field or item is taken of."""
        if self._is_attribute(node):
            return self._attribute(node, base)
        evaluate = self.compile(node)

        def relative(frame: Frame) -> Value:
            frame[0] += base
            return evaluate(frame)

        return relative

    def _ident(self, node: IdentNode, base: int = 1) -> Evaluator:
        if not self._slots.get(node.name):
            raise ProgramError(f"reference to undefined type: {node.name}")
        # The innermost variable of that name.
        slot = self._slots[node.name][-1]

        def variable(frame: Frame) -> Value:
            frame[0] += base
            return frame[slot]

        return variable

    def _select(self, node: SelectNode, base: int = 1) -> Evaluator:
        if node.is_test:
            return self._test(node)
        if node.is_optional or node.operand.type.is_optional:
            return self._optional_select(node, base)
        # A chain of fields becomes one closure instead of one per field.
        names: list[str] = [node.field]
        root = node.operand
        while isinstance(root, SelectNode) and self._is_plain(root):
            names.append(root.field)
            root = root.operand
        names.reverse()
        return self._path(self._operand(root, base), names, root, base)

    def _is_plain(self, node: SelectNode) -> bool:
        special = node.is_test or node.is_optional or node.type_name or node.operand.type.is_optional
        return not special

    def _path(self, operand: Evaluator, names: list[str], root: Node, base: int) -> Evaluator:
        cost = len(names)
        if isinstance(root, IdentNode) and not root.is_type:
            # The most frequent: fields of a variable.
            slot = self._slots[root.name][-1]
            cost += base

            def fields(frame: Frame) -> Value:
                frame[0] += cost
                value = frame[slot]
                for name in names:
                    value = select_value(value, name)
                return value

            return fields

        def path(frame: Frame) -> Value:
            value = operand(frame)
            frame[0] += cost
            for name in names:
                value = select_value(value, name)
            return value

        return path

    def _test(self, node: SelectNode) -> Evaluator:
        operand = self._free(node.operand)
        name = node.field

        def test(frame: Frame) -> Value:
            value = operand(frame)
            frame[0] += 1
            return test_value(value, name)

        return test

    def _optional_select(self, node: SelectNode, base: int) -> Evaluator:
        operand = self._operand(node.operand, base)
        name = node.field

        def select(frame: Frame) -> Value:
            value = operand(frame)
            frame[0] += 1
            return select_optional(value, name)

        return select

    def _index(self, node: CallNode, base: int = 1) -> Evaluator:
        operand = self._operand(node.args[0], base)
        index = self._free(node.args[1])
        is_optional = node.function == "_[?_]"

        def item(frame: Frame) -> Value:
            value = operand(frame)
            key = index(frame)
            frame[0] += 1
            if is_optional or type(value) is OptionalValue:
                return present(value, key)
            return index_value(value, key)

        return item

    # Calls.

    def _call(self, node: CallNode) -> Evaluator:
        special = {
            "_&&_": self._and,
            "_||_": self._or,
            "_?_:_": self._conditional,
            "_[_]": self._index,
            "_[?_]": self._index,
            "or": self._or_else,
            "orValue": self._or_else,
            "@in": self._in,
            "matches": self._pattern,
            "find": self._pattern,
            "findAll": self._pattern,
        }.get(node.function)
        if special is not None:
            return special(node)
        if node.function in COMPARISONS:
            return self._comparison(node)
        return self._function(node)

    def _function(self, node: CallNode, *, is_optimized: bool = False) -> Evaluator:
        call = bind(node, self._environment.functions, is_optimized=is_optimized)
        args = [self.compile(operand) for operand in node.operands]
        cost_of = cost_of_call(node.function, node.overloads)
        # Most functions cost 1; the others depend on the sizes of their arguments.
        if cost_of is not None:
            return self._costly(call, args, cost_of)
        if len(args) == 1:
            first = args[0]

            def unary(frame: Frame) -> Value:
                value = first(frame)
                frame[0] += 1
                return call(value)

            return unary
        if len(args) == 2:
            left, right = args

            def binary(frame: Frame) -> Value:
                one = left(frame)
                other = right(frame)
                frame[0] += 1
                return call(one, other)

            return binary

        def function(frame: Frame) -> Value:
            values = [arg(frame) for arg in args]
            frame[0] += 1
            return call(*values)

        return function

    def _costly(
        self, call: Callable[..., Value], args: list[Evaluator], cost_of: Callable[[Sequence[Value]], int]
    ) -> Evaluator:
        limit = self.limit

        def costly(frame: Frame) -> Value:
            values = [arg(frame) for arg in args]
            try:
                frame[0] += cost_of(values)
            except (TypeError, AttributeError, KeyError):
                # A dynamic value of another type: the call itself reports it.
                frame[0] += 1
            # Before the call: a costly one must not run at all.
            if frame[0] > limit:
                raise CostError
            return call(*values)

        return costly

    def _comparison(self, node: CallNode) -> Evaluator:
        """Equality and order: directly for the types that are known."""
        left, right = (self.compile(arg) for arg in node.args)
        kinds = {arg.type.kind for arg in node.args}
        # Comparisons with known types need no dispatch.
        if kinds == {"int"}:
            return compare_numbers(node.function, left, right)
        if kinds == {"string"}:
            return compare_text(node.function, left, right)
        if node.function in {"_==_", "_!=_"}:
            return compare(left, right, is_equality=node.function == "_==_")
        return self._function(node)

    def _in(self, node: CallNode) -> Evaluator:
        constant = self._constant(node.args[1])
        members: list[Value] = constant if constant.__class__ is list else [_NOT_CONSTANT]
        kinds: set[type] = {member.__class__ for member in members}
        # Other members have no hash that agrees with CEL's equality.
        if not kinds <= {str, int, bool}:
            return self._function(node)
        # A set of constants: looking into it costs nothing.
        known: set[tuple[type, Value]] = {(member.__class__, member) for member in members}
        item = self.compile(node.args[0])

        def is_member(frame: Frame) -> Value:
            value = item(frame)
            kind: type = value.__class__
            # 1.0 equals 1 in CEL, so a double cannot be looked up by type.
            if kind is float or kind not in HASHABLE:
                return any(equals(member, value) for member in members)
            return (int if kind is not str and kind is not bool else kind, value) in known

        return is_member

    def _pattern(self, node: CallNode) -> Evaluator:
        pattern = self._constant(node.args[0] if node.target is not None else node.args[-1])
        if isinstance(pattern, str):
            try:
                # An invalid constant pattern fails when the rule is compiled, and not when it is evaluated.
                compile_pattern(pattern)
            except PatternError as error:
                raise ProgramError(str(error)) from None
        return self._function(node, is_optimized=isinstance(pattern, str))

    # Logic: errors count only if no operand decides.

    def _and(self, node: CallNode) -> Evaluator:
        return all_of([self.compile(arg) for arg in node.args])

    def _or(self, node: CallNode) -> Evaluator:
        return any_of([self.compile(arg) for arg in node.args])

    def _conditional(self, node: CallNode) -> Evaluator:
        condition = self.compile(node.args[0])
        # A branch continues the attribute around it, whose first step is already counted.
        then, otherwise = self._free(node.args[1]), self._free(node.args[2])

        def conditional(frame: Frame) -> Value:
            chosen = condition(frame)
            if chosen is True:
                return then(frame)
            if chosen is False:
                return otherwise(frame)
            raise EvaluationError(NO_OVERLOAD)

        return conditional

    def _or_else(self, node: CallNode) -> Evaluator:
        assert node.target is not None
        optional, other = self.compile(node.target), self.compile(node.args[0])
        unwraps = node.function == "orValue"

        def or_else(frame: Frame) -> Value:
            value = optional(frame)
            if not isinstance(value, OptionalValue):
                return value
            # The other operand is evaluated on demand only.
            if not value.has_value:
                return other(frame)
            return value.value if unwraps else value

        return or_else

    # Lists, maps and loops.

    def _list(self, node: ListNode) -> Evaluator:
        return make_list([self.compile(element) for element in node.items], node.optionals)

    def _map(self, node: MapNode) -> Evaluator:
        entries = [(self.compile(key), self.compile(value), optional) for key, value, optional in node.entries]
        # The server folds constant maps, which then cost nothing.
        is_constant = all(
            self._constant(part) is not _NOT_CONSTANT for key, value, _ in node.entries for part in (key, value)
        )
        return make_map(entries, 0 if is_constant else MAP_COST)

    def _message(self, node: MessageNode) -> Evaluator:
        fields = [(field.name, self.compile(field.value), field.is_optional) for field in node.fields]
        return make_message(fields, partial(self._environment.make_struct, node.name))

    def _comprehension(self, node: ComprehensionNode) -> Evaluator:
        if node.is_binding:
            return self._binding(node)
        over = self.compile(node.over)
        slots = [self.declare(variable) for variable in node.variables]
        accumulator = self.declare(node.accumulator)
        loop = compile_loop(self, node, Loop(over, slots, accumulator, self.limit))
        # The slots stay reserved; only the names go out of scope.
        for variable in (*node.variables, node.accumulator):
            self.forget(variable)
        return loop

    def _binding(self, node: ComprehensionNode) -> Evaluator:
        value = self.compile(node.start)
        slot = self.declare(node.accumulator)
        result = self.compile(node.result)
        self.forget(node.accumulator)

        def bound(frame: Frame) -> Value:
            frame[slot] = value(frame)
            return result(frame)

        return bound
