"""Validation of rules and match conditions, which webhooks and policies share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, not_supported, required, too_many
from masthead_server.resources import names
from masthead_server.resources.builtin.admissionregistration.expressions import (
    CONDITION,
    Declarations,
    compile_expression,
    expression_errors,
)
from masthead_server.resources.validation.checks import each_of, follows, known_or_nothing, words
from masthead_server.wire.plain import items, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["condition_errors", "rule_errors"]

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_MAX_CONDITIONS: Final = 64


def rule_errors(rule: Plain, path: str) -> Errors:
    """Return the errors of a rule: operations, groups, versions, resources and scope."""
    operations = words(rule, "operations")
    errors = _wildcard_errors(operations, f"{path}.operations", "operations")
    errors += [
        not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
        for index, operation in enumerate(operations)
        if operation not in _OPERATIONS
    ]
    errors += _wildcard_errors(words(rule, "apiGroups"), f"{path}.apiGroups", "API groups")
    versions = words(rule, "apiVersions")
    errors += _wildcard_errors(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    errors += _resource_errors(words(rule, "resources"), f"{path}.resources")
    return errors + known_or_nothing(f"{path}.scope", rule.get("scope"), _SCOPES)


def _wildcard_errors(values: list[str], path: str, noun: str) -> Errors:
    if not values:
        return [required(path)]
    # The others would be redundant, and hide a mistake.
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {noun}")]
    return []


def _resource_errors(resources: list[str], path: str) -> Errors:
    errors: Errors = [] if resources else [required(path)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    has_plain = False
    for index, pattern in enumerate(resources):
        at = f"{path}[{index}]"
        if not pattern:
            errors.append(required(at))
            continue
        resource, slash, subresource = pattern.partition("/")
        if not slash:
            # As in kube-apiserver, only the last one counts.
            has_plain = pattern != "*"
            continue
        # Only patterns before this one count, as in kube-apiserver: "pods/log" before "pods/*" is accepted.
        if resource in whole:
            errors.append(invalid(at, pattern, f"if '{resource}/*' is present, must not specify {pattern}"))
        if subresource in everywhere:
            errors.append(invalid(at, pattern, f"if '*/{subresource}' is present, must not specify {pattern}"))
        whole |= {resource} if subresource == "*" else set()
        everywhere |= {subresource} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and has_plain:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, why))
    return errors


def condition_errors(owner: Plain, path: str, *, has_params: bool) -> Errors:
    """Return the errors of the match conditions of a webhook or a policy.

    Args:
        owner: The webhook, or the spec of the policy.
        path: Its path.
        has_params: Whether the policy has a paramKind.
    """
    conditions = items(owner, "matchConditions")
    errors: Errors = []
    if len(conditions) > _MAX_CONDITIONS:
        errors.append(too_many(f"{path}.matchConditions", len(conditions), _MAX_CONDITIONS))
    seen: set[str] = set()
    for at, condition in each_of(owner, "matchConditions", path):
        name = text(condition, "name")
        errors += _expression_errors(f"{at}.expression", text(condition, "expression"), has_params=has_params)
        errors += follows(f"{at}.name", name, names.qualified_name) if name else [required(f"{at}.name")]
        if name and name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
    return errors


def _expression_errors(path: str, expression: str, *, has_params: bool) -> Errors:
    # kube-apiserver trims the expression first, so that blank text counts as missing.
    source = expression.strip()
    if not source:
        return [required(path)]
    compiled = compile_expression(source, Declarations(has_params=has_params), CONDITION)
    return expression_errors(path, source, compiled)
