"""Match conditions of webhooks and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.evaluation import BudgetError, Evaluation
from masthead_server.resources.builtin.admissionregistration.expressions import (
    CONDITION,
    Declarations,
    compile_expression,
)
from masthead_server.wire.plain import items, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.admission.evaluation import RequestValues
    from masthead_server.resources.builtin.admissionregistration.expressions import AdmissionExpression
    from masthead_server.wire.plain import Plain

__all__ = ["ConditionError", "MatchConditions"]

_BUDGET: Final = 2_500_000
"""The most that all match conditions of a webhook or policy may cost together."""


class ConditionError(Exception):
    """Match conditions fail, and with them the request, by the failure policy."""


class MatchConditions:
    """The match conditions of a webhook or a policy, compiled.

    Args:
        owner: The webhook, or the spec of the policy.
        declarations: The variables of the conditions.
    """

    def __init__(self, owner: Plain, declarations: Declarations | None = None) -> None:
        declared = declarations or Declarations()
        self._expressions: list[AdmissionExpression] = [
            compile_expression(text(condition, "expression"), declared, CONDITION)
            for condition in items(owner, "matchConditions")
        ]
        self._ignores_failures = text(owner, "failurePolicy") == "Ignore"

    def __bool__(self) -> bool:
        return bool(self._expressions)

    def match(
        self,
        values: RequestValues,
        *,
        params: Plain | None = None,
        variables: Mapping[str, AdmissionExpression] | None = None,
        is_bounded: bool = False,
    ) -> bool:
        """Tell whether all conditions hold. A false one decides, even if others fail.

        Args:
            values: The values that describe the request.
            params: The parameters of the policy.
            variables: The variables of the policy.
            is_bounded: Whether to stop before the event loop is blocked.

        Raises:
            ConditionError: If conditions fail.
            CostlyEvaluation: If they cost too much for the event loop.
        """
        if not self._expressions:
            return True
        evaluation = Evaluation(
            values, _BUDGET, params=params, variables=variables, has_namespace=False, is_bounded=is_bounded
        )
        try:
            # All of them, even behind a false one: their costs count together.
            results = [evaluation.evaluate(expression) for expression in self._expressions]
        except BudgetError as error:
            return self._fail(str(error))
        if any(result.value is False for result in results):
            return False
        # Equal problems are written once, as Go's aggregates do.
        problems = list(dict.fromkeys(result.error for result in results if result.error))
        if not problems:
            return True
        return self._fail(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _fail(self, problem: str) -> bool:
        if self._ignores_failures:
            return False
        raise ConditionError(problem)
