"""ResourceQuotas: defaults, validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.defaulting.fill import round_up, shape
from masthead_server.resources.validation.checks import words
from masthead_server.resources.validation.resource_requirements import (
    FOR_QUOTAS,
    is_huge,
    quota_name_errors,
    value_errors,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(
    inside={
        "spec": shape(inside={"hard": round_up}),
        "status": shape(inside={"hard": round_up, "used": round_up}),
    }
)

_OF_PODS: Final = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_SCOPES: Final = {
    **dict.fromkeys(
        ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
        _OF_PODS,
    ),
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""What a quota with a scope may bound."""
_EXISTING: Final = frozenset(
    {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"}
)
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def quota_errors(quota: Plain) -> Errors:
    """Return the errors of a ResourceQuota."""
    spec = part(quota, "spec")
    errors: Errors = []
    for name, value in part(spec, "hard").items():
        path = f"spec.hard[{name}]"
        errors += quota_name_errors(path, name) + value_errors(path, name, value)
    scopes = words(spec, "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
            continue
        # One error for each such resource, all with the same text.
        # Names outside the standard set, such as extended resources, fit every scope.
        apart = [name for name in part(spec, "hard") if _is_standard(name) and name not in _SCOPES[scope]]
        errors += [invalid("spec.scopes", scopes, "unsupported scope applied to resource") for _ in apart]
    # Scopes are combined with "and", so that these would match nothing.
    for pair in ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}):
        if pair <= set(scopes):
            errors.append(invalid("spec.scopes", scopes, "conflicting scopes"))
    return errors + (_selector_errors(spec) if spec.get("scopeSelector") is not None else [])


def _is_standard(name: str) -> bool:
    """Tell whether quotas know a resource by itself, rather than as one of a group."""
    return name in FOR_QUOTAS or is_huge(name.removeprefix("requests."))


def _selector_errors(spec: Plain) -> Errors:
    path = "spec.scopeSelector.matchExpressions"
    expressions = items(part(spec, "scopeSelector"), "matchExpressions")
    errors: Errors = []
    for expression in expressions:
        scope = text(expression, "scopeName")
        if scope not in _SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        bound = [name for name in part(spec, "hard") if _is_standard(name)]
        apart = [name for name in bound if scope in _SCOPES and name not in _SCOPES[scope]]
        # Go's internal struct of the whole selector, for each expression that is wrong.
        shown = _shown_selector(expressions)
        errors += [invalid(path, shown, "unsupported scope applied to resource") for _ in apart]
        errors += _requirement_errors(expression, path)
    scopes = {text(expression, "scopeName") for expression in expressions}
    for pair in ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}):
        if pair <= scopes:
            # kube-apiserver shows the scopes here, not the expressions.
            errors.append(invalid(path, spec.get("scopes"), "conflicting scopes"))
    return errors


def _shown_selector(expressions: list[Plain]) -> Plain:
    """A selector as kube-apiserver's messages show it: with the names of Go's fields."""
    fields = ("scopeName", "operator", "values")
    return {
        "MatchExpressions": [
            {name[0].upper() + name[1:]: expression.get(name) for name in fields} for expression in expressions
        ]
    }


def _requirement_errors(requirement: Plain, path: str) -> Errors:
    operator, values = text(requirement, "operator"), words(requirement, "values")
    errors: Errors = []
    # These scopes are predicates of a pod and have no values to compare.
    if requirement.get("scopeName") in _EXISTING and operator != "Exists":
        errors.append(invalid(f"{path}.operator", operator, _MUST_EXIST))
    if operator in {"In", "NotIn"}:
        if not values:
            why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required(f"{path}.values", why))
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            errors.append(invalid(f"{path}.values", values, why))
    else:
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    return errors


def quota_status_errors(new: Plain, _old: Plain) -> Errors:
    """Return the errors of the status of a ResourceQuota."""
    errors: Errors = []
    for side in ("hard", "used"):
        # Sorted, because Go's order of maps is random.
        for name, value in sorted(part(part(new, "status"), side).items()):
            path = f"status.{side}[{name}]"
            errors += quota_name_errors(path, name) + value_errors(path, name, value)
    return errors


def quota_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a ResourceQuota."""
    now, then = (words(part(state, "spec"), "scopes") for state in (new, old))
    errors = quota_errors(new)
    # The scopes decide which objects were counted.
    # As sets: order and repetition of scopes have no meaning.
    return errors if set(now) == set(then) else [*errors, invalid("spec.scopes", now, "field is immutable")]


_QUOTAS: Final = (
    (("requests.cpu", "cpu"), "limits.cpu"),
    (("requests.memory", "memory"), "limits.memory"),
    (("requests.ephemeral-storage",), "limits.ephemeral-storage"),
)
"""Under which names requests may be bounded, and the name of the limit that should be higher."""


def quota_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a ResourceQuota."""
    hard = part(part(obj, "spec"), "hard")
    found: list[str] = []
    for names, limit in _QUOTAS:
        # requests.cpu is checked before its short form; only the first one is compared.
        name = next((amount_name for amount_name in names if amount_name in hard), None)
        if name is None or limit not in hard:
            continue
        requested, most = Quantity(hard[name]), Quantity(hard[limit])
        # A warning, no error: each of them is valid alone.
        if requested > most:
            found.append(f"ResourceQuota {name} ({requested}) should be less than {limit} ({most})")
    return found


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=quota_errors, validate_update=quota_changes, validate_status=quota_status_errors
    ),
    warnings=WarningHooks(quota_warnings),
)
