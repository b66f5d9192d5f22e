"""Comprehensions: the loops that the macros ``all``, ``exists``, ``map`` and their kin expand to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from masthead._cel.costs import LIST_COST
from masthead._cel.errors import NO_OVERLOAD, CostError, EvaluationError
from masthead._cel.library.lists import insert
from masthead._cel.library.operators import MAX_ITEMS
from masthead._cel.nodes import CallNode, ComprehensionNode, IdentNode, ListNode, LiteralNode, Node
from masthead._cel.values import MISSING, Value, find, is_list, is_map, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from masthead._cel.frames import Evaluator, Frame

__all__ = ["Loop", "compile_loop"]


class Loop(NamedTuple):
    """The compiled parts that all loops have.

    Attributes:
        over: Evaluates the list or map to iterate.
        slots: The slots of an item's variables in the frame.
        accumulator: The slot of the accumulator in the frame.
        limit: The maximum cost of an evaluation.
    """

    over: Evaluator
    slots: list[int]
    accumulator: int
    limit: int

    def items(self, frame: Frame) -> Iterator[None]:
        """Yield for each item, with its variables in the frame.

        Raises:
            EvaluationError: If it cannot be looped over.
            CostError: If the evaluation costs too much.
        """
        limit = self.limit
        for values in _pairs(self.over(frame), len(self.slots)):
            # Checked for each item, so that an endless-looking loop ends early.
            if frame[0] > limit:
                raise CostError
            for slot, value in zip(self.slots, values, strict=True):
                frame[slot] = value
            yield


class CompilesNodes(Protocol):
    """Compiles the parts of a loop."""

    def compile(self, node: Node) -> Evaluator:
        """Compile a node."""
        ...


def _items(container: Value) -> Iterable[Value]:
    if is_list(container) or is_map(container):
        return container  # type: ignore[no-any-return]
    raise EvaluationError(f"got '{_go_type(container)}', expected iterable type")


def _pairs(container: Value, count: int) -> Iterator[tuple[Value, ...]]:
    if count == 1:
        return zip(_items(container), strict=False)
    if is_map(container):
        # Entries without a value are skipped, so that the variable always has one.
        return iter([(key, find(container, key)) for key in container if find(container, key) is not MISSING])
    if is_list(container):
        items: Iterable[Value] = container
        return enumerate(items)
    raise EvaluationError(f"unsupported comprehension range type: {_go_type(container)}")


def _go_type(value: Value) -> str:
    """The type as the server's message names it."""
    name = type_name(value).rpartition(".")[2]
    return f"types.{'Null' if name == 'null_type' else name.capitalize()}"


def compile_loop(compiler: CompilesNodes, node: ComprehensionNode, loop: Loop) -> Evaluator:
    """Compile the expansion of a macro.

    Args:
        compiler: Compiles its parts.
        node: The loop.
        loop: Its compiled parts.
    """
    condition = node.condition
    if isinstance(condition, CallNode):
        # ``all`` continues while the accumulator is not false, ``exists`` while it is not true.
        assert isinstance(node.step, CallNode)
        predicate = compiler.compile(node.step.args[1])
        is_all = isinstance(condition.args[0], IdentNode)
        # The costs are those of the expanded macro: its operators count, although they are not evaluated here.
        return _quantifier(loop, predicate, decisive=not is_all, cost=3 if is_all else 4)
    return _collector(compiler, node, loop)


def _quantifier(loop: Loop, predicate: Evaluator, *, decisive: bool, cost: int) -> Evaluator:
    over, slots, _, limit = loop
    slot = slots[0]
    is_single = len(slots) == 1

    def quantify(frame: Frame) -> Value:
        error: EvaluationError | None = None
        # One variable, as nearly always: without the detour through a generator.
        items = _items(over(frame)) if is_single else loop.items(frame)
        for item in items:
            if is_single:
                frame[slot] = item
                if frame[0] > limit:
                    raise CostError
            frame[0] += cost
            try:
                value = predicate(frame)
            except EvaluationError as caught:
                # An error is forgotten if a later item decides; otherwise the first one is raised.
                error = error or caught
                continue
            if value is decisive:
                frame[0] += 1
                return decisive
            # A dynamic predicate may return anything.
            if type(value) is not bool:
                error = error or EvaluationError(NO_OVERLOAD)
        frame[0] += 1
        if error is not None:
            raise error
        return not decisive

    return quantify


def _collector(compiler: CompilesNodes, node: ComprehensionNode, loop: Loop) -> Evaluator:
    advance = _step(compiler, node.step)
    # ``existsOne`` starts with the number 0, ``map`` and ``filter`` with an empty list, others with a map.
    counts = isinstance(node.start, LiteralNode)
    makes_list = isinstance(node.start, ListNode)

    def start() -> Value:
        return 0 if counts else [] if makes_list else {}

    def collect(frame: Frame) -> Value:
        result = start()
        for _ in loop.items(frame):
            result = advance(frame, result)
        frame[0] += 2 if counts else 1
        # The expansion compares the count at its end.
        return result == 1 if counts else result

    return collect


def _step(compiler: CompilesNodes, step: Node) -> Callable[[Frame, Value], Value]:
    assert isinstance(step, CallNode)
    if step.function == "_?_:_":
        condition, then = compiler.compile(step.args[0]), _step(compiler, step.args[1])

        def conditional(frame: Frame, result: Value) -> Value:
            chosen = condition(frame)
            if type(chosen) is not bool:
                raise EvaluationError(NO_OVERLOAD)
            return then(frame, result) if chosen else result

        return conditional
    if step.function == "cel.@mapInsert":
        return _insertion(compiler, step)
    return _addition(compiler, step.args[1])


def _addition(compiler: CompilesNodes, added: Node) -> Callable[[Frame, Value], Value]:
    if isinstance(added, LiteralNode):

        def count(frame: Frame, result: Value) -> Value:
            frame[0] += 2
            return result + 1

        return count
    assert isinstance(added, ListNode)
    value_of = compiler.compile(added.items[0])
    cost = 2 if isinstance(added.items[0], LiteralNode) else 2 + LIST_COST

    def append(frame: Frame, result: Value) -> Value:
        value = value_of(frame)
        frame[0] += cost
        # The memory of a result is limited as well as its cost.
        if len(result) >= MAX_ITEMS:
            raise CostError
        result.append(value)
        return result

    return append


def _insertion(compiler: CompilesNodes, step: CallNode) -> Callable[[Frame, Value], Value]:
    parts = [compiler.compile(arg) for arg in step.args[1:]]

    def put(frame: Frame, result: Value) -> Value:
        values = [part(frame) for part in parts]
        frame[0] += 2
        if len(values) == 2:
            return insert(result, values[0], values[1])
        if not is_map(values[0]):
            raise EvaluationError(NO_OVERLOAD)
        for key in values[0]:
            insert(result, key, find(values[0], key))
        return result

    return put
