"""ValidatingAdmissionPolicy: policies that refuse requests, or warn about them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead_server.admission.conditions import ConditionError
from masthead_server.admission.evaluation import (
    COST_BUDGET,
    BudgetError,
    CostlyEvaluation,
    Evaluation,
    ExpressionResult,
    RequestValues,
    evaluate_in_thread,
)
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.policies.params import ConfigurationError
from masthead_server.admission.policies.policy import BoundPolicy, PolicyBinding
from masthead_server.admission.policies.policy_index import PolicyIndex
from masthead_server.admission.policies.scope import decides_about
from masthead_server.admission.refusals import forbid
from masthead_server.resources.builtin.admissionregistration.expressions import (
    AUDIT_VALUE,
    CONDITION,
    MESSAGE,
    AdmissionExpression,
    compile_expression,
)
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.admission.matching import Match
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["ValidatingAdmissionPolicy", "ValidatingPolicy"]

_INVALID: Final = "Invalid"
_CODES: Final = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Unauthorized": 401}
_MAX_MESSAGE: Final = 5 * 1024
_MAX_ANNOTATION: Final = 10 * 1024
_FAILURE_ANNOTATION: Final = "validation.policy.admission.k8s.io/validation_failure"


class _Validation(NamedTuple):
    """One validation of a policy."""

    expression: AdmissionExpression
    message: str
    message_expression: AdmissionExpression | None
    reason: str


class _Denial(NamedTuple):
    """A validation that does not hold: its number from 0, why, and the reason of the status."""

    number: int
    message: str
    reason: str = ""


class _Verdict(NamedTuple):
    """The verdict of a policy on a request: denials, audit annotations, and errors of annotations."""

    denials: tuple[_Denial, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    errors: tuple[str, ...] = ()


class ValidatingPolicy(BoundPolicy):
    """A validating policy, compiled.

    Args:
        cluster: The cluster state.
        stored: The stored policy.
        bindings: Its bindings.
    """

    def __init__(self, cluster: ClusterState, stored: Plain, bindings: tuple[PolicyBinding, ...]) -> None:
        super().__init__(cluster, stored, bindings)
        spec = part(stored, "spec")
        self._validations = [self._compile(validation) for validation in items(spec, "validations")]
        self._annotations = [
            (
                text(annotation, "key"),
                compile_expression(text(annotation, "valueExpression"), self.declarations, AUDIT_VALUE),
            )
            for annotation in items(spec, "auditAnnotations")
        ]
        self._has_messages = any(validation.message_expression for validation in self._validations)

    def _compile(self, validation: Plain) -> _Validation:
        source = text(validation, "messageExpression")
        without_authorizer = self.declarations._replace(has_authorizer=False)
        return _Validation(
            compile_expression(text(validation, "expression"), self.declarations, CONDITION),
            text(validation, "message").strip(),
            compile_expression(source, without_authorizer, MESSAGE) if source else None,
            text(validation, "reason") or _INVALID,
        )

    def judge(self, values: RequestValues, params: Plain | None, *, is_bounded: bool) -> _Verdict:
        """Evaluate the policy for a request and one parameter.

        Args:
            values: The values that describe the request.
            params: The parameter; None for none.
            is_bounded: Whether to stop before the event loop is blocked.

        Raises:
            CostlyEvaluation: If it costs too much for the event loop.
        """
        try:
            if not self.conditions.match(values, params=params, variables=self.variables, is_bounded=is_bounded):
                return _Verdict()
            evaluation = Evaluation(values, COST_BUDGET, params=params, variables=self.variables, is_bounded=is_bounded)
            results = [evaluation.evaluate(validation.expression) for validation in self._validations]
            messages = self._messages(values, params, evaluation.budget, is_bounded=is_bounded)
            denials = tuple(self._deny(results, messages))
            return self._annotate(values, params, denials, is_bounded=is_bounded)
        except (ConditionError, BudgetError) as error:
            return _Verdict(() if self.ignores_failures else (_Denial(0, str(error)),))

    def _messages(
        self, values: RequestValues, params: Plain | None, budget: int, *, is_bounded: bool
    ) -> list[ExpressionResult] | str:
        """Return the result of each messageExpression, or the error that ended their evaluation."""
        if not self._has_messages:
            return []
        # Messages have no authorizer, and share the budget that validations left.
        evaluation = Evaluation(
            values, budget, params=params, variables=self.variables, has_authorizer=False, is_bounded=is_bounded
        )
        nothing = ExpressionResult(None, "")
        try:
            return [
                nothing if expression is None else evaluation.evaluate(expression)
                for expression in (validation.message_expression for validation in self._validations)
            ]
        except BudgetError as error:
            return str(error)

    def _deny(self, results: list[ExpressionResult], messages: list[ExpressionResult] | str) -> Iterator[_Denial]:
        for index, (validation, result) in enumerate(zip(self._validations, results, strict=True)):
            problem = result.error
            # Messages that cost too much spoil even validations that hold, as on the real server.
            if not problem and isinstance(messages, str):
                problem = f"failed messageExpression: {messages}"
            if problem:
                if not self.ignores_failures:
                    yield _Denial(index, problem)
            elif result.value is not True:
                value = messages[index].value if messages and not isinstance(messages, str) else None
                message = _usable(value) or validation.message
                failed = f"failed expression: {validation.expression.source.strip()}"
                yield _Denial(index, message or failed, validation.reason)

    def _annotate(
        self, values: RequestValues, params: Plain | None, denials: tuple[_Denial, ...], *, is_bounded: bool
    ) -> _Verdict:
        if not self._annotations:
            return _Verdict(denials)
        evaluation = Evaluation(
            values,
            COST_BUDGET,
            params=params,
            variables=self.variables,
            has_authorizer=False,
            is_bounded=is_bounded,
        )
        annotations: list[tuple[str, str]] = []
        errors: list[str] = []
        for key, expression in self._annotations:
            result = evaluation.evaluate(expression)
            if result.error:
                errors += [] if self.ignores_failures else [result.error]
            # Null and blank text leave the annotation out.
            elif isinstance(result.value, str) and (value := result.value.strip()):
                annotations.append((key, value[:_MAX_ANNOTATION]))
        return _Verdict(denials, tuple(annotations), tuple(errors))


def _usable(value: object) -> str:
    """Return the message that an expression makes; empty if it is too long or has several lines."""
    message = value.strip() if isinstance(value, str) else ""
    return "" if len(message.encode()) > _MAX_MESSAGE or "\n" in message else message


class _Refusals:
    """The denials of a request, the first of which becomes the response."""

    def __init__(self, attributes: AdmissionAttributes) -> None:
        self._attributes = attributes
        self._first: tuple[str, str] | None = None

    def add(self, policy: ValidatingPolicy, binding: PolicyBinding | None, message: str, reason: str = "") -> None:
        """Note a denial."""
        where = f"ValidatingAdmissionPolicy '{policy.name}'"
        if binding is not None:
            where = f"{where} with binding '{binding.name}'"
        # The others are not reported, but all policies are evaluated: they may warn.
        self._first = self._first or (f"{where} denied request: {message}", reason or _INVALID)

    def add_problem(self, policy: ValidatingPolicy, binding: PolicyBinding | None, problem: str) -> None:
        """Note a policy or a binding that cannot be used, unless the policy ignores its failures."""
        if not policy.ignores_failures:
            self.add(policy, binding, f"failed to configure {'policy' if binding is None else 'binding'}: {problem}")

    def check(self) -> None:
        """Refuse the request if anything denies it.

        Raises:
            StatusFailure: If so.
        """
        if self._first is None:
            return
        message, reason = self._first
        failure = forbid(self._attributes, message)
        details = {**(failure.details or {}), "causes": [{"message": message}]}
        raise StatusFailure(_CODES.get(reason, 422), reason, failure.message, details=details)


class ValidatingAdmissionPolicy(AdmissionPlugin):
    """Evaluates ValidatingAdmissionPolicies."""

    name = "ValidatingAdmissionPolicy"

    def __init__(self, cluster: ClusterState) -> None:
        super().__init__(cluster)
        resources = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
        self._index = PolicyIndex(cluster, *resources, ValidatingPolicy)

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether policies decide: about all but policies themselves and reviews of access."""
        del operation, subresource
        return decides_about(served)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Evaluate every policy that the request matches."""
        refusals = _Refusals(attributes)
        values: dict[Match, RequestValues] = {}
        for policy in self._index.policies:
            try:
                match = policy.match(attributes)
                # Only for a request that matches: a kind that is missing must not refuse others.
                served = policy.find_param_resource() if match is not None else None
            except ConfigurationError as error:
                refusals.add_problem(policy, None, str(error))
                continue
            if match is None:
                continue
            annotations: dict[str, dict[str, None]] = {}
            for binding in policy.bindings:
                try:
                    for params in self._params(attributes, binding, served):
                        # Converted once, for all policies that match by the same version.
                        if match not in values:
                            values[match] = await RequestValues.of(self.cluster, attributes, match)
                        verdict = await _judge(policy, values[match], params)
                        _enforce(verdict, policy, binding, refusals, attributes)
                        for key, value in verdict.annotations:
                            annotations.setdefault(key, {})[value] = None
                except ConfigurationError as error:
                    refusals.add_problem(policy, binding, str(error))
            for key, listed in annotations.items():
                attributes.annotations[f"{policy.name}/{key}"] = ", ".join(listed)
        refusals.check()

    @staticmethod
    def _params(
        attributes: AdmissionAttributes, binding: PolicyBinding, served: ServedResource | None
    ) -> list[Plain | None]:
        return binding.params(served, attributes.namespace) if binding.matches(attributes) else []


async def _judge(policy: ValidatingPolicy, values: RequestValues, params: Plain | None) -> _Verdict:
    try:
        return policy.judge(values, params, is_bounded=True)
    # From the beginning, in a thread: an evaluation cannot be moved.
    except CostlyEvaluation:
        return await evaluate_in_thread(values, partial(policy.judge, values, params, is_bounded=False))


def _enforce(
    verdict: _Verdict,
    policy: ValidatingPolicy,
    binding: PolicyBinding,
    refusals: _Refusals,
    attributes: AdmissionAttributes,
) -> None:
    """Take the actions of a binding after a verdict."""
    for denial in verdict.denials:
        for action in binding.actions:
            if action == "Deny":
                refusals.add(policy, binding, denial.message, denial.reason)
            elif action == "Warn":
                where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                attributes.warnings.append(f"Validation failed for {where}: {denial.message}")
            else:
                # As in kube-apiserver, the first failure stays: an annotation is never replaced.
                attributes.annotations.setdefault(_FAILURE_ANNOTATION, _describe(denial, binding))
    for error in verdict.errors:
        refusals.add(policy, binding, error)


def _describe(denial: _Denial, binding: PolicyBinding) -> str:
    failure = {
        "message": denial.message,
        "policy": binding.policy_name,
        "binding": binding.name,
        "expressionIndex": denial.number,
        "validationActions": binding.actions,
    }
    return msgspec.json.encode([failure]).decode()
