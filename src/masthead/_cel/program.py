"""Programs: expressions that are compiled, and can be evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._cel.checker import check
from masthead._cel.compiler import compile_node
from masthead._cel.environment import standard_environment
from masthead._cel.errors import CelError, CostError
from masthead._cel.estimate import SizeOf, estimate_cost
from masthead._cel.nodes import IdentNode, Node, children
from masthead._cel.parser import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._cel.environment import CelEnvironment
    from masthead._cel.frames import Frame
    from masthead._cel.types import Type
    from masthead._cel.values import Value

__all__ = ["COST_LIMIT", "Outcome", "Program", "compile_expression"]

COST_LIMIT: Final = 1_000_000
"""The most that one evaluation may cost."""


class Outcome(NamedTuple):
    """What an evaluation came to.

    Attributes:
        value: The value; None if there is an error.
        error: Why there is no value.
        cost: What it cost.
    """

    value: Value
    error: CelError | None
    cost: int


class Program:
    """A compiled expression.

    Attributes:
        source: Its text.
        type: The type of its value.
        names: The variables that it uses.
    """

    __slots__ = ("_evaluate", "_limit", "_node", "_padding", "names", "source", "type")

    def __init__(
        self,
        source: str,
        variables: Mapping[str, Type],
        *,
        limit: int = COST_LIMIT,
        environment: CelEnvironment | None = None,
    ) -> None:
        """Compile an expression.

        Args:
            source: The text.
            variables: The types of its variables, by name.
            limit: The most that an evaluation may cost.
            environment: The functions and messages; by default those of Kubernetes.

        Raises:
            CompileError: If it is no expression, or its types do not fit.
            ProgramError: If a constant part of it has no value.
        """
        environment = environment or standard_environment()
        qualified = [name for name in variables if "." in name]
        node = parse(source, qualified=qualified, has_bindings=environment.has_bindings)
        self.source = source
        self.type = check(source, node, variables, environment)
        self.names = _names(node) & variables.keys()
        self._node = node
        self._evaluate, size = compile_node(node, tuple(variables), limit, environment)
        # The slots of loop variables, which are set when a loop runs.
        self._padding = [None] * (size - 1 - len(variables))
        self._limit = limit

    def evaluate(self, *values: Value) -> Outcome:
        """Evaluate it with the values of its variables, in the order of their declaration."""
        frame: Frame = [0, *values, *self._padding]
        try:
            value = self._evaluate(frame)
        except CelError as error:
            return Outcome(None, error, frame[0])
        # Cheap steps do not check the limit themselves.
        if frame[0] > self._limit:
            return Outcome(None, CostError(), frame[0])
        return Outcome(value, None, frame[0])

    def estimate(self, size_of: SizeOf) -> int:
        """Return the most that an evaluation can cost.

        Args:
            size_of: The largest size of a value of a variable, by its path; None if it is not known.
        """
        return estimate_cost(self._node, size_of)


def compile_expression(source: str, variables: Mapping[str, Type]) -> Program:
    """Compile an expression.

    Raises:
        CompileError: If it is no expression, or its types do not fit.
        ProgramError: If a constant part of it has no value.
    """
    return Program(source, variables)


def _names(root: Node) -> set[str]:
    """The variables of an expression; a variable of a loop may hide one of the same name."""
    names: set[str] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, IdentNode):
            names.add(node.name)
        waiting += children(node)
    return names
