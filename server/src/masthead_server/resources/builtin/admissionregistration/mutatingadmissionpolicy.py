"""MutatingAdmissionPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.admissionregistration.defaults import POLICY
from masthead_server.resources.builtin.admissionregistration.expressions import (
    APPLY_CONFIGURATION,
    JSON_PATCHES,
    Declarations,
    compile_expression,
    expression_errors,
)
from masthead_server.resources.builtin.admissionregistration.policy_validation import (
    constraint_errors,
    declare_variables,
    variable_errors,
)
from masthead_server.resources.builtin.admissionregistration.warnings import admission_warnings
from masthead_server.resources.validation.checks import each_of, unsupported
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead._cel.types import Type
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["MUTATING_OPERATIONS"]

MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
"""The operations with an object that a policy can change."""
_PATCH_TYPES: Final = ("ApplyConfiguration", "JSONPatch")
_REINVOCATIONS: Final = ("IfNeeded", "Never")
_FIELDS: Final[dict[str, tuple[str, str, tuple[Type, ...]]]] = {
    "ApplyConfiguration": ("applyConfiguration", "jsonPatch", APPLY_CONFIGURATION),
    "JSONPatch": ("jsonPatch", "applyConfiguration", JSON_PATCHES),
}
"""By the type of a patch: its field, the field of the other type, and the result of its expression."""


def _policy_errors(policy: Plain, old: Plain | None = None) -> Errors:
    spec = part(policy, "spec")
    errors = constraint_errors(spec, None if old is None else part(old, "spec"), MUTATING_OPERATIONS)
    composite, declarations = declare_variables(spec, is_composed=True)
    errors += variable_errors(spec, composite, declarations)
    if not items(spec, "mutations"):
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for at, mutation in each_of(spec, "mutations", "spec"):
        errors += _mutation_errors(mutation, at, declarations._replace(has_patch_types=True))
    reinvocation = text(spec, "reinvocationPolicy")
    if not reinvocation:
        errors.append(required("spec.reinvocationPolicy"))
    elif reinvocation not in _REINVOCATIONS:
        errors.append(unsupported("spec.reinvocationPolicy", reinvocation, _REINVOCATIONS))
    return errors


def _mutation_errors(mutation: Plain, path: str, declarations: Declarations) -> Errors:
    patch_type = text(mutation, "patchType")
    if not patch_type:
        return [required(f"{path}.patchType")]
    if patch_type not in _FIELDS:
        return [unsupported(f"{path}.patchType", patch_type, _PATCH_TYPES)]
    field, other, results = _FIELDS[patch_type]
    errors: Errors = []
    if mutation.get(field) is None:
        errors.append(required(f"{path}.{field}", f"must be specified when patchType is {patch_type}"))
    else:
        source, at = text(mutation[field], "expression").strip(), f"{path}.{field}.expression"
        if not source:
            errors.append(required(at))
        else:
            errors += expression_errors(at, source, compile_expression(source, declarations, results))
    if mutation.get(other) is not None:
        why = f"must not be specified when patchType is {patch_type}"
        errors.append(invalid(f"{path}.{other}", f"{{{other}}}", why))
    return errors


BEHAVIOR: Final = Behavior(
    defaults=POLICY,
    hooks=StrategyHooks(validate_create=_policy_errors, validate_update=_policy_errors),
    warnings=always(admission_warnings),
)
