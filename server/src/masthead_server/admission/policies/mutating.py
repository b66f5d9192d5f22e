"""MutatingAdmissionPolicy: policies that change objects."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from masthead._meta.quoting import quoted
from masthead_server.admission.attributes import Operation
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
from masthead_server.admission.policies.patches import PatchError, apply_configuration, apply_operations
from masthead_server.admission.policies.policy import BoundPolicy, PolicyBinding
from masthead_server.admission.policies.policy_index import PolicyIndex
from masthead_server.admission.policies.scope import decides_about
from masthead_server.admission.refusals import name_object
from masthead_server.admission.webhooks.versioned_objects import decode_object
from masthead_server.resources.builtin.admissionregistration.expressions import (
    APPLY_CONFIGURATION,
    JSON_PATCHES,
    AdmissionExpression,
    compile_expression,
)
from masthead_server.wire.failures import StatusFailure, details_of
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.matching import Match
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["MutatingAdmissionPolicy", "MutatingPolicy"]


class _Mutation(NamedTuple):
    """A mutation: its expression, and whether that makes a JSON patch, or else an apply configuration."""

    expression: AdmissionExpression
    is_json_patch: bool


class MutatingPolicy(BoundPolicy):
    """A mutating policy, compiled.

    Args:
        cluster: The cluster state.
        stored: The stored policy.
        bindings: Its bindings.
    """

    def __init__(self, cluster: ClusterState, stored: Plain, bindings: tuple[PolicyBinding, ...]) -> None:
        super().__init__(cluster, stored, bindings)
        spec = part(stored, "spec")
        self.is_reinvoked = text(spec, "reinvocationPolicy") == "IfNeeded"
        self.mutations = [self._compile(mutation) for mutation in items(spec, "mutations")]

    def _compile(self, mutation: Plain) -> _Mutation:
        is_json_patch = text(mutation, "patchType") == "JSONPatch"
        source = text(part(mutation, "jsonPatch" if is_json_patch else "applyConfiguration"), "expression")
        declarations = self.declarations._replace(has_patch_types=True)
        results = JSON_PATCHES if is_json_patch else APPLY_CONFIGURATION
        return _Mutation(compile_expression(source, declarations, results), is_json_patch)

    def matches(self, values: RequestValues, params: Plain | None, *, is_bounded: bool) -> bool:
        """Tell whether its match conditions hold.

        Raises:
            ConditionError: If they fail.
            CostlyEvaluation: If they cost too much for the event loop.
        """
        return self.conditions.match(values, params=params, variables=self.variables, is_bounded=is_bounded)

    def evaluate(
        self, mutation: _Mutation, values: RequestValues, params: Plain | None, *, is_bounded: bool
    ) -> ExpressionResult:
        """Evaluate the expression of a mutation.

        Raises:
            BudgetError: If it costs too much.
            CostlyEvaluation: If it costs too much for the event loop.
        """
        # Validation refuses such policies; one may have been stored by another version of the server.
        if mutation.expression.error:
            return ExpressionResult(None, mutation.expression.error)
        evaluation = Evaluation(values, COST_BUDGET, params=params, variables=self.variables, is_bounded=is_bounded)
        return evaluation.evaluate(mutation.expression)


class _Invocation(NamedTuple):
    """A policy that is to be evaluated for a request, with one parameter."""

    policy: MutatingPolicy
    binding: PolicyBinding
    match: Match
    params: Plain | None

    @property
    def uid(self) -> str:
        """What identifies it in the second round of admission."""
        meta = part(self.params or {}, "metadata")
        return "/".join((self.policy.name, self.binding.name, text(meta, "namespace"), text(meta, "name")))


class _Errors:
    """The errors of policies that do not ignore theirs."""

    def __init__(self, attributes: AdmissionAttributes) -> None:
        self._attributes = attributes
        self._found: list[tuple[str, str]] = []

    def add(self, policy: MutatingPolicy, binding: PolicyBinding | None, problem: str, reason: str = "Invalid") -> None:
        """Note an error."""
        if policy.ignores_failures:
            return
        if binding is None:
            where = f"policy {quoted(policy.name)}"
        else:
            where = f"policy '{policy.name}' with binding '{binding.name}'"
        self._found.append((f"{where} denied request: {problem}", reason))

    def add_configuration(self, policy: MutatingPolicy, binding: PolicyBinding | None, problem: str) -> None:
        """Note a policy or a binding that cannot be used."""
        noun = "policy" if binding is None else "binding"
        self.add(policy, binding, f"failed to configure {noun}: {problem}", "Forbidden")

    def check(self) -> None:
        """Refuse the request if there are errors.

        Raises:
            StatusFailure: If so.
        """
        if not self._found:
            return
        served = self._attributes.served
        message, reason = self._found[0]
        causes = [{"message": found} for found, _ in self._found]
        details = {**details_of(name_object(self._attributes), served.group, served.name), "causes": causes}
        raise StatusFailure(403, reason, message, details=details)


class MutatingAdmissionPolicy(AdmissionPlugin):
    """Evaluates MutatingAdmissionPolicies."""

    name = "MutatingAdmissionPolicy"

    def __init__(self, cluster: ClusterState) -> None:
        super().__init__(cluster)
        resources = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
        self._index = PolicyIndex(cluster, *resources, MutatingPolicy)

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether policies may change such an object; a deletion has none."""
        del subresource
        return operation is not Operation.DELETE and decides_about(served)

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Evaluate every policy that the request matches, in order; each gets what the last one has made.

        In the second round, only policies with the reinvocation policy IfNeeded are evaluated again, if the object has
        changed since.
        """
        errors = _Errors(attributes)
        invocations = self._find_invocations(attributes, errors)
        if invocations:
            await self._run(invocations, attributes, errors)
        errors.check()

    def _find_invocations(self, attributes: AdmissionAttributes, errors: _Errors) -> list[_Invocation]:
        found: list[_Invocation] = []
        for policy in self._index.policies:
            try:
                match = policy.match(attributes)
                # Only for a request that matches: a kind that is missing must not refuse others.
                served = policy.find_param_resource() if match is not None else None
            except ConfigurationError as error:
                errors.add_configuration(policy, None, str(error))
                continue
            if match is None:
                continue
            for binding in policy.bindings:
                try:
                    if binding.matches(attributes):
                        listed = binding.params(served, attributes.namespace)
                        found += [_Invocation(policy, binding, match, params) for params in listed]
                except ConfigurationError as error:
                    errors.add_configuration(policy, binding, str(error))
        return found

    async def _run(self, invocations: list[_Invocation], attributes: AdmissionAttributes, errors: _Errors) -> None:
        reinvocation = attributes.reinvocation
        calls = reinvocation.calls_of(self.name)
        if reinvocation.is_second_round and attributes.object != calls.last_output:
            calls.require_all()
        is_patched = False
        # All of them were matched before the first change: a policy cannot switch another one off.
        for invocation in invocations:
            try:
                if not await self._matches(invocation, attributes):
                    continue
            except ConditionError as error:
                errors.add(invocation.policy, invocation.binding, str(error))
                continue
            if reinvocation.is_second_round and invocation.uid not in calls.required:
                continue
            before = attributes.object
            is_patched |= await self._mutate(invocation, attributes, errors)
            if attributes.object != before:
                calls.require_all()
            if invocation.policy.is_reinvoked:
                calls.invoked.add(invocation.uid)
        # Even if nothing has changed, as in kube-apiserver.
        if is_patched:
            calls.require_all()
            reinvocation.is_requested = True
        calls.last_output = _copy(attributes.object)

    async def _matches(self, invocation: _Invocation, attributes: AdmissionAttributes) -> bool:
        policy, params = invocation.policy, invocation.params
        # Most policies have no conditions, and converting the objects takes longer than matching.
        if not policy.conditions:
            return True
        values = await RequestValues.of(self.cluster, attributes, invocation.match)
        try:
            return policy.matches(values, params, is_bounded=True)
        except CostlyEvaluation:
            return await evaluate_in_thread(values, partial(policy.matches, values, params, is_bounded=False))

    async def _mutate(self, invocation: _Invocation, attributes: AdmissionAttributes, errors: _Errors) -> bool:
        """Apply the mutations of a policy; returns whether any was applied."""
        is_patched = False
        for mutation in invocation.policy.mutations:
            if attributes.object is None:
                break
            try:
                await self._patch(mutation, invocation, attributes)
                is_patched = True
            # The next mutation is applied all the same: its failure may be the one to report.
            except (BudgetError, PatchError) as error:
                errors.add(invocation.policy, invocation.binding, str(error))
        return is_patched

    async def _patch(self, mutation: _Mutation, invocation: _Invocation, attributes: AdmissionAttributes) -> None:
        """Apply one mutation.

        Raises:
            BudgetError: If its expression costs too much.
            PatchError: If it cannot be applied.
            StatusFailure: If the result is no object of its kind.
        """
        policy, match = invocation.policy, invocation.match
        # New values for each mutation, which sees what the one before has made.
        values = await RequestValues.of(self.cluster, attributes, match)
        try:
            result = policy.evaluate(mutation, values, invocation.params, is_bounded=True)
        except CostlyEvaluation:
            unbounded = partial(policy.evaluate, mutation, values, invocation.params, is_bounded=False)
            result = await evaluate_in_thread(values, unbounded)
        if result.error:
            raise PatchError(result.error)
        found: Plain = values["object"]
        if mutation.is_json_patch:
            patched = apply_operations(found, result.value)
        else:
            patched = apply_configuration(found, result.value, match)
        _check_version(match, attributes)
        attributes.object = await decode_object(attributes, match, patched, is_strict=mutation.is_json_patch)


def _check_version(match: Match, attributes: AdmissionAttributes) -> None:
    """Refuse a patch of another version of a built-in kind, as kube-apiserver does, which cannot convert it back."""
    kind, requested = match.kind, attributes.kind
    if kind.version == requested.version or match.served.is_custom:
        return
    problem = f"converting ({kind.version}.{kind.kind}) to ({requested.version}.{requested.kind}): unknown conversion"
    raise PatchError(problem)


def _copy(found: Plain | None) -> Plain | None:
    return None if found is None else msgspec.json.decode(msgspec.json.encode(found))
