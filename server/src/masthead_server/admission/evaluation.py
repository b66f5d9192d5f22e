"""Evaluation of expressions about a request: the values of their variables, and what they may cost."""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from masthead._cel.costs import AUTHORIZATION_COST
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.library.authorization import AccessRequest, AuthorizerValue, ResourceCheckValue
from masthead._cel.values import MISSING, MapLike, Value
from masthead._meta.gvk import GroupVersionResource
from masthead._meta.quoting import quoted
from masthead_server.admission.reviewer import AbsentReviewer, AuthorizerReviewer, ReviewContext
from masthead_server.admission.webhooks.review import describe_request
from masthead_server.admission.webhooks.versioned_objects import convert_object
from masthead_server.wire.plain import Plain, part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.matching import Match
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.builtin.admissionregistration.expressions import AdmissionExpression

__all__ = [
    "COST_BUDGET",
    "BudgetError",
    "CostlyEvaluation",
    "Evaluation",
    "ExpressionResult",
    "RequestValues",
    "evaluate_in_thread",
]

T = TypeVar("T")
COST_BUDGET: Final = 10_000_000
"""The most that all expressions of a policy may cost together."""
_MAX_LOOP_COST: Final = 100_000
"""Cost of expressions that are evaluated on the event loop: some ten milliseconds."""
_NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")
_NAMESPACE_FIELDS: Final = frozenset({"metadata", "spec", "status"})
_ABSENT: Final[dict[str, Value]] = {
    "authorizer": AuthorizerValue(AbsentReviewer()),
    "authorizer.requestResource": ResourceCheckValue(AbsentReviewer(), AccessRequest()),
}


class BudgetError(Exception):
    """The expressions of a policy cost more than all of them may."""

    def __init__(self) -> None:
        problem = "validation failed due to running out of cost budget, no further validation rules will be run"
        super().__init__(problem)


class CostlyEvaluation(Exception):  # noqa: N818 - nothing is wrong: it goes on in a thread
    """Expressions cost more than the event loop can afford."""


class RequestValues(dict[str, Value]):
    """The values of the variables that describe a request; unused ones are never made.

    Args:
        cluster: The cluster state.
        attributes: The request.
        match: The resource and kind by which the policy or webhook matches it.
        new: The object in that version; None for a deletion.
        old: The stored object in that version; None for a create.
    """

    def __init__(
        self, cluster: ClusterState, attributes: AdmissionAttributes, match: Match, new: Plain | None, old: Plain | None
    ) -> None:
        super().__init__(object=new, oldObject=old)
        self._cluster = cluster
        self._attributes = attributes
        self._match = match
        self.reviews = ReviewContext(cluster.authorizer)
        self._reviewer = AuthorizerReviewer(self.reviews, attributes.user)

    @classmethod
    async def of(cls, cluster: ClusterState, attributes: AdmissionAttributes, match: Match) -> RequestValues:
        """Convert the objects of a request to the version of a match.

        Raises:
            StatusFailure: If they cannot be converted.
        """
        new, old = attributes.object, attributes.old
        return cls(
            cluster,
            attributes,
            match,
            None if new is None else await convert_object(attributes, match, new),
            None if old is None else await convert_object(attributes, match, old),
        )

    def __missing__(self, name: str) -> Value:
        value = self[name] = _MAKERS[name](self)
        return value

    def make_request(self) -> Plain:
        """Return the AdmissionRequest, without uid and objects."""
        return describe_request(self._attributes, self._match)

    def make_namespace(self) -> Plain | None:
        """Return the namespace of the object, without its managedFields; None for a cluster-scoped object."""
        attributes = self._attributes
        # A Namespace has itself as the namespace, but is cluster-scoped.
        if not attributes.namespace or attributes.served.table == "namespaces":
            return None
        served = self._cluster.catalog.require(_NAMESPACES)
        record = self._cluster.storage.table(served.table).get(attributes.namespace)
        return None if record is None else _describe_namespace(self._cluster.decode(served, record))

    def make_authorizer(self) -> Value:
        """Return the value of ``authorizer``."""
        return AuthorizerValue(self._reviewer)

    def make_resource_check(self) -> Value:
        """Return the value of ``authorizer.requestResource``."""
        attributes = self._attributes
        served = attributes.served
        request = AccessRequest(
            group=served.group,
            resource=served.name,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        return ResourceCheckValue(self._reviewer, request)


_MAKERS: Final[Mapping[str, Callable[[RequestValues], Value]]] = {
    "request": RequestValues.make_request,
    "namespaceObject": RequestValues.make_namespace,
    "authorizer": RequestValues.make_authorizer,
    "authorizer.requestResource": RequestValues.make_resource_check,
}


def _describe_namespace(found: Plain) -> Plain:
    shown = {key: value for key, value in found.items() if key in _NAMESPACE_FIELDS}
    metadata = {key: value for key, value in part(found, "metadata").items() if key != "managedFields"}
    return {**shown, "metadata": metadata}


async def evaluate_in_thread(values: RequestValues, evaluate: Callable[[], T]) -> T:
    """Evaluate expressions that cost too much for the event loop.

    Args:
        values: The values that describe the request.
        evaluate: Evaluates them.
    """
    values.reviews.loop = asyncio.get_running_loop()
    try:
        return await asyncio.to_thread(evaluate)
    finally:
        values.reviews.loop = None


class ExpressionResult(NamedTuple):
    """The value of an expression, or its error; None and empty if the other one counts."""

    value: Value
    error: str


class _LazyVariables(MapLike):
    """The variables of a policy, each evaluated when it is first used."""

    __slots__ = ("_evaluation", "_expressions", "_known", "cost")

    def __init__(self, expressions: Mapping[str, AdmissionExpression], evaluation: Evaluation) -> None:
        self._expressions = expressions
        self._evaluation = evaluation
        self._known: dict[str, Value | EvaluationError] = {}
        self.cost = 0

    def __len__(self) -> int:
        return len(self._expressions)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._expressions)

    def find(self, key: Value) -> Value:
        """Return the value of a variable; `MISSING` if there is no such variable.

        Raises:
            EvaluationError: If it has no value.
        """
        if type(key) is not str:
            raise EvaluationError(NO_OVERLOAD)
        # The checker has refused unknown names, except where an expression is dynamic.
        if key not in self._expressions:
            return MISSING
        if key not in self._known:
            self._known[key] = self._evaluate(key, self._expressions[key])
        known = self._known[key]
        if isinstance(known, EvaluationError):
            raise known
        return known

    def _evaluate(self, name: str, expression: AdmissionExpression) -> Value | EvaluationError:
        variable = f"composited variable {quoted(name)}"
        if expression.program is None:
            return EvaluationError(f"{variable} fails to compile: {expression.error}")
        outcome = expression.program.evaluate(*self._evaluation.values_of(expression))
        # Counted for the expression that uses it first.
        self.cost += outcome.cost
        if outcome.error is not None:
            return EvaluationError(f"{variable} fails to evaluate: {outcome.error}")
        return outcome.value

    def equals(self, other: Value) -> bool:
        """Whether the other is the same."""
        return self is other


class Evaluation:
    """Evaluates some expressions one after the other, which share variables and a cost budget.

    Args:
        values: The values that describe the request.
        budget: The most that the expressions may cost together.
        params: The parameters of the policy; None for none.
        variables: The variables of the policy.
        has_authorizer: Whether the authorizer answers.
        has_namespace: Whether ``namespaceObject`` has a value; to match conditions it is null.
        is_bounded: Whether to stop with `CostlyEvaluation`, before the event loop is blocked.
    """

    def __init__(
        self,
        values: RequestValues,
        budget: int,
        *,
        params: Plain | None = None,
        variables: Mapping[str, AdmissionExpression] | None = None,
        has_authorizer: bool = True,
        has_namespace: bool = True,
        is_bounded: bool = False,
    ) -> None:
        self.budget = budget
        self._values = values
        self._limit = budget - _MAX_LOOP_COST if is_bounded else -inf
        self._reviews = values.reviews.count
        self._variables = _LazyVariables(variables or {}, self)
        self._own: dict[str, Value] = {"params": params, "variables": self._variables, "": None}
        if not has_authorizer:
            self._own |= _ABSENT
        if not has_namespace:
            self._own["namespaceObject"] = None

    def values_of(self, expression: AdmissionExpression) -> list[Value]:
        """Return the values that an expression takes."""
        own, values = self._own, self._values
        return [own[name] if name in own else values[name] for name in expression.slots]

    def evaluate(self, expression: AdmissionExpression) -> ExpressionResult:
        """Evaluate an expression.

        Raises:
            BudgetError: If the expressions together cost too much.
            CostlyEvaluation: If they cost too much for the event loop.
        """
        if expression.program is None:
            return ExpressionResult(None, f"compilation error: {expression.error}")
        problem: object = None
        value: Value = None
        cost = 0
        try:
            value, problem, cost = expression.program.evaluate(*self.values_of(expression))
        except (TypeError, AttributeError):
            # Some values do not have the types that they are declared with: times of namespaces are text.
            problem = NO_OVERLOAD
        # Also of an expression that fails: errors must not be a way to spend more.
        self.budget -= cost + self._variables.cost
        self._variables.cost = 0
        if self.budget < 0:
            raise BudgetError
        # A review costs much, so that there are few of them, and takes microseconds.
        reviews = self._values.reviews.count - self._reviews
        if self.budget + reviews * AUTHORIZATION_COST < self._limit:
            raise CostlyEvaluation
        if problem is not None:
            return ExpressionResult(None, f"expression '{expression.source}' resulted in error: {problem}")
        return ExpressionResult(value, "")
