"""A policy and its bindings, compiled for evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.gvk import GroupVersionKind
from masthead_server.admission.conditions import MatchConditions
from masthead_server.admission.matching import RequestMatcher
from masthead_server.admission.policies.params import ConfigurationError, collect_params, find_param_resource
from masthead_server.resources.builtin.admissionregistration.expressions import (
    VARIABLE,
    AdmissionExpression,
    CompositeType,
    Declarations,
    compile_expression,
)
from masthead_server.resources.validation.checks import words
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.matching import Match
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["BoundPolicy", "PolicyBinding"]


class PolicyBinding:
    """A binding.

    Args:
        cluster: The cluster state.
        stored: The stored binding.
    """

    def __init__(self, cluster: ClusterState, stored: Plain) -> None:
        spec = part(stored, "spec")
        self.name = text(part(stored, "metadata"), "name")
        self.policy_name = text(spec, "policyName")
        self.actions = words(spec, "validationActions")
        self._reference: Plain | None = spec.get("paramRef")
        self._cluster = cluster
        resources = spec.get("matchResources")
        self._matcher = None if resources is None else RequestMatcher(cluster, resources)

    def matches(self, attributes: AdmissionAttributes) -> bool:
        """Tell whether it applies to a request.

        Raises:
            ConfigurationError: If that cannot be decided.
        """
        # Without matchResources, a binding applies to all that its policy is for.
        if self._matcher is None:
            return True
        try:
            return self._matcher.match(attributes) is not None
        except StatusFailure as failure:
            raise ConfigurationError(failure.message) from None

    def params(self, served: ServedResource | None, namespace: str) -> list[Plain | None]:
        """Return the parameters for a request in a namespace.

        Raises:
            ConfigurationError: If there are none and there must be.
        """
        return collect_params(self._cluster, served, self._reference, namespace)


class BoundPolicy:
    """A policy with its bindings. Subclasses add what it does.

    Args:
        cluster: The cluster state.
        stored: The stored policy.
        bindings: Its bindings, in the order of their names.
    """

    def __init__(self, cluster: ClusterState, stored: Plain, bindings: tuple[PolicyBinding, ...]) -> None:
        spec = part(stored, "spec")
        self.name = text(part(stored, "metadata"), "name")
        self.bindings = bindings
        self.ignores_failures = text(spec, "failurePolicy") == "Ignore"
        self._cluster = cluster
        self._matcher = RequestMatcher(cluster, part(spec, "matchConstraints"), matches_without_rules=False)
        kind: Plain | None = spec.get("paramKind")
        self._param_kind = None if kind is None else GroupVersionKind.of(text(kind, "apiVersion"), text(kind, "kind"))
        composite = CompositeType()
        self.declarations = Declarations(has_params=kind is not None, variables=composite.type)
        self.variables: dict[str, AdmissionExpression] = {}
        for variable in items(spec, "variables"):
            compiled = compile_expression(text(variable, "expression"), self.declarations, VARIABLE)
            # Each may use those before it.
            composite.add(text(variable, "name"), compiled)
            self.variables[text(variable, "name")] = compiled
        self.conditions = MatchConditions(spec, self.declarations)

    def match(self, attributes: AdmissionAttributes) -> Match | None:
        """Return what a request matches as; None if the policy is not for it.

        Raises:
            ConfigurationError: If that cannot be decided.
        """
        try:
            return self._matcher.match(attributes)
        except StatusFailure as failure:
            raise ConfigurationError(failure.message) from None

    def find_param_resource(self) -> ServedResource | None:
        """Return the resource of its parameters; None if it has none.

        Raises:
            ConfigurationError: If it is not served.
        """
        return None if self._param_kind is None else find_param_resource(self._cluster, self._param_kind)
