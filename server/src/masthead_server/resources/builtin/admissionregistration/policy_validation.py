"""Validation of admission policies: what validating and mutating ones share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._cel.checker import RESERVED_FIELDS
from masthead._schema.errors import duplicate, invalid, required
from masthead_server.resources import names
from masthead_server.resources.builtin.admissionregistration.expressions import (
    VARIABLE,
    CompositeType,
    Declarations,
    compile_expression,
    expression_errors,
)
from masthead_server.resources.builtin.admissionregistration.rule_validation import condition_errors, rule_errors
from masthead_server.resources.validation.checks import each_of, label_selector, unsupported, words
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["constraint_errors", "declare_variables", "match_errors", "operation_errors", "variable_errors"]

_FAILURE_POLICIES: Final = ("Fail", "Ignore")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_IDENTIFIER: Final = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")


def constraint_errors(spec: Plain, old: Plain | None, operations: tuple[str, ...] = ()) -> Errors:
    """Return the errors of the fields that decide about which requests a policy is for.

    Args:
        spec: The spec of the policy.
        old: The spec before an update; None for a new policy.
        operations: The only operations of a mutating policy; empty for a validating one.
    """
    errors = _choice_errors("spec.failurePolicy", spec.get("failurePolicy"), _FAILURE_POLICIES)
    kind = spec.get("paramKind")
    if kind is not None:
        errors += _param_kind_errors(kind, "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += match_errors(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        errors += operation_errors(constraints, "spec.matchConstraints", operations)
    # Unchanged conditions were valid once, and stay so in a newer version.
    if old is None or not _same_conditions(spec, old):
        errors += condition_errors(spec, "spec", has_params=kind is not None)
    return errors


def _same_conditions(new: Plain, old: Plain) -> bool:
    """Tell whether an update leaves match conditions and what they depend on unchanged."""
    return all(new.get(field) == old.get(field) for field in ("paramKind", "matchConditions"))


def match_errors(criteria: Plain, path: str) -> Errors:
    """Return the errors of matchConstraints or matchResources."""
    errors = _choice_errors(f"{path}.matchPolicy", criteria.get("matchPolicy"), _MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        if criteria.get(field) is None:
            errors.append(required(f"{path}.{field}"))
        else:
            errors += label_selector(f"{path}.{field}", part(criteria, field))
    for field in ("resourceRules", "excludeResourceRules"):
        for at, rule in each_of(criteria, field, path):
            errors += _named_rule_errors(rule, at)
    return errors


def operation_errors(criteria: Plain, path: str, operations: tuple[str, ...]) -> Errors:
    """Return the errors of rules of a mutating policy that name operations without an object to change."""
    if not operations:
        return []
    return [
        unsupported(f"{path}.resourceRules.operations", operation, operations)
        for _, rule in each_of(criteria, "resourceRules", path)
        for operation in words(rule, "operations")
        if operation not in operations
    ]


def _named_rule_errors(rule: Plain, path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, name in enumerate(words(rule, "resourceNames")):
        at = f"{path}.resourceNames[{index}]"
        errors += [invalid(at, name, problem) for problem in names.path_segment(name)]
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
    return errors + rule_errors(rule, path)


def _choice_errors(path: str, value: object, choices: tuple[str, ...]) -> Errors:
    if value is None:
        return [required(path)]
    return [] if value in choices else [unsupported(path, value, choices)]


def _param_kind_errors(kind: Plain, path: str) -> Errors:
    errors = _api_version_errors(text(kind, "apiVersion"), f"{path}.apiVersion")
    name = text(kind, "kind")
    if not name:
        errors.append(required(f"{path}.kind"))
    elif problems := names.LABEL_1035(name.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        errors.append(invalid(f"{path}.kind", name, why))
    return errors


def _api_version_errors(value: str, path: str) -> Errors:
    if not value:
        return [required(path)]
    if value.count("/") > 1:
        return [invalid(path, value, f"unexpected GroupVersion string: {value}")]
    group, _, version = value.rpartition("/")
    errors: Errors = []
    if group and (problems := names.SUBDOMAIN(group)):
        errors.append(invalid(path, group, ",".join(problems)))
    if not version:
        errors.append(invalid(path, value, "version must be specified"))
    elif problems := names.LABEL_1035(version):
        errors.append(invalid(path, version, ",".join(problems)))
    return errors


def variable_errors(spec: Plain, composite: CompositeType, declarations: Declarations) -> Errors:
    """Return the errors of the variables of a policy, each of which may use those before it.

    Args:
        spec: The spec of the policy.
        composite: The type of ``variables``; the variables are added to it.
        declarations: The other variables of an expression.
    """
    errors: Errors = []
    for at, variable in each_of(spec, "variables", "spec"):
        name, source = text(variable, "name"), text(variable, "expression")
        if not name.strip():
            errors.append(required(f"{at}.name", "name is not specified"))
        elif _IDENTIFIER.fullmatch(name) is None or name in RESERVED_FIELDS:
            errors.append(invalid(f"{at}.name", name, "must be a valid CEL identifier"))
        if not source.strip():
            errors.append(required(f"{at}.expression", "expression is not specified"))
            continue
        compiled = compile_expression(source, declarations, VARIABLE)
        composite.add(name, compiled)
        errors += expression_errors(f"{at}.expression", source, compiled)
    return errors


def declare_variables(spec: Plain, *, is_composed: bool) -> tuple[CompositeType, Declarations]:
    """Return the type of ``variables`` and the variables of expressions.

    Args:
        spec: The spec of the policy.
        is_composed: Whether expressions may use ``variables``.
    """
    composite = CompositeType()
    variables = composite.type if is_composed else None
    return composite, Declarations(has_params=spec.get("paramKind") is not None, variables=variables)
