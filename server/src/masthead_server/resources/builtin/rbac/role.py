"""Roles: validation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import each_of, label_selector
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def _rule_errors(rule: Plain, path: str, *, namespaced: bool) -> Errors:
    errors: Errors = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls, at = rule.get("nonResourceURLs"), f"{path}.nonResourceURLs"
    if urls:
        if namespaced:
            errors.append(invalid(at, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(at, urls, why))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def role_errors(role: Plain, *, namespaced: bool) -> Errors:
    """Return the errors of a Role."""
    errors: Errors = []
    for index, rule in enumerate(items(role, "rules")):
        errors += _rule_errors(rule, f"rules[{index}]", namespaced=namespaced)
    if role.get("aggregationRule") is not None:
        aggregation, path = part(role, "aggregationRule"), "aggregationRule"
        if not aggregation.get("clusterRoleSelectors"):
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            errors.append(required(f"{path}.clusterRoleSelectors", why))
        for at, selector in each_of(aggregation, "clusterRoleSelectors", path):
            problems = label_selector(at, selector)
            errors += problems
            if problems:
                errors.append(invalid(at, None, "invalid label selector."))
    return errors


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        validate_create=partial(role_errors, namespaced=True),
        validate_update=lambda new, _old: role_errors(new, namespaced=True),
    )
)
