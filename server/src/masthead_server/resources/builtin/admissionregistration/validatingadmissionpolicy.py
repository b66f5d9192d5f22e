"""ValidatingAdmissionPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._printers.jsonpath import JsonPathError, compile_path
from masthead._schema.errors import duplicate, invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior, always
from masthead_server.resources.builtin.admissionregistration.defaults import POLICY
from masthead_server.resources.builtin.admissionregistration.expressions import (
    AUDIT_VALUE,
    CONDITION,
    MESSAGE,
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
from masthead_server.resources.validation.checks import each_of, follows, unsupported
from masthead_server.resources.validation.status import condition_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MAX_ANNOTATIONS: Final = 20
_MAX_ANNOTATION_EXPRESSION: Final = 5 * 1024
_NOTHING_TO_DO: Final = "validations or auditAnnotations must contain at least one item"


def _policy_errors(policy: Plain, old: Plain | None = None) -> Errors:
    spec = part(policy, "spec")
    errors = constraint_errors(spec, None if old is None else part(old, "spec"))
    composite, declarations = declare_variables(spec, is_composed=bool(items(spec, "variables")))
    errors += variable_errors(spec, composite, declarations)
    if not items(spec, "validations") and not items(spec, "auditAnnotations"):
        fields = ("spec.validations", "spec.auditAnnotations")
        return [*errors, *(required(field, _NOTHING_TO_DO) for field in fields)]
    for at, validation in each_of(spec, "validations", "spec"):
        errors += _validation_errors(validation, at, declarations)
    return errors + _annotation_errors(policy, declarations)


def _validation_errors(validation: Plain, path: str, declarations: Declarations) -> Errors:
    source, message = text(validation, "expression"), text(validation, "message")
    errors: Errors = []
    if not source.strip():
        errors.append(required(f"{path}.expression", "expression is not specified"))
    else:
        compiled = compile_expression(source, declarations, CONDITION)
        errors += expression_errors(f"{path}.expression", source, compiled)
    errors += _message_expression_errors(validation, path, declarations)
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(unsupported(f"{path}.reason", reason, _REASONS))
    return errors


def _message_expression_errors(validation: Plain, path: str, declarations: Declarations) -> Errors:
    source, at = text(validation, "messageExpression"), f"{path}.messageExpression"
    if not source:
        return []
    if not source.strip():
        return [invalid(at, source, "must be non-empty if specified")]
    compiled = compile_expression(source, declarations._replace(has_authorizer=False), MESSAGE)
    return expression_errors(at, source, compiled)


def _annotation_errors(policy: Plain, declarations: Declarations) -> Errors:
    spec = part(policy, "spec")
    annotations, path = items(spec, "auditAnnotations"), "spec.auditAnnotations"
    errors: Errors = []
    if len(annotations) > _MAX_ANNOTATIONS:
        why = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        # The message shows them as kube-apiserver holds them.
        shown = [{"Key": text(item, "key"), "ValueExpression": text(item, "valueExpression")} for item in annotations]
        errors.append(invalid(path, shown, why))
    seen: set[str] = set()
    for at, annotation in each_of(spec, "auditAnnotations", "spec"):
        key = text(annotation, "key")
        errors += _key_errors(text(part(policy, "metadata"), "name"), key, f"{at}.key")
        errors += _value_errors(text(annotation, "valueExpression"), f"{at}.valueExpression", declarations)
        if key in seen:
            errors.append(duplicate(f"{at}.key", key))
        seen.add(key)
    return errors


def _key_errors(name: str, key: str, path: str) -> Errors:
    # The policy's name is the prefix of the annotation.
    if not name:
        return [invalid(path, key, "requires metadata.name be non-empty")]
    return follows(path, f"{name}/{key}", names.qualified_name)


def _value_errors(source: str, path: str, declarations: Declarations) -> Errors:
    trimmed = source.strip()
    if not trimmed:
        return [required(path, "valueExpression is not specified")]
    if len(trimmed.encode()) > _MAX_ANNOTATION_EXPRESSION:
        return [required(path, f"must not exceed {_MAX_ANNOTATION_EXPRESSION} bytes in length")]
    return expression_errors(path, source, compile_expression(trimmed, declarations, AUDIT_VALUE))


def _status_errors(policy: Plain, _old: Plain) -> Errors:
    status = part(policy, "status")
    errors: Errors = []
    for at, warning in each_of(part(status, "typeChecking"), "expressionWarnings", "status.typeChecking"):
        if not text(warning, "warning"):
            errors.append(required(f"{at}.warning"))
        errors += _reference_errors(text(warning, "fieldRef").strip(), f"{at}.fieldRef")
    return errors + condition_errors(status)


def _reference_errors(reference: str, path: str) -> Errors:
    if not reference:
        return [required(path)]
    try:
        compile_path(reference)
    except JsonPathError as error:
        return [invalid(path, reference, f"invalid JSONPath: {error}")]
    return []


BEHAVIOR: Final = Behavior(
    defaults=POLICY,
    hooks=StrategyHooks(validate_create=_policy_errors, validate_update=_policy_errors, validate_status=_status_errors),
    warnings=always(admission_warnings),
    subresources={"status": SubresourceBehavior(warnings=always(admission_warnings))},
)
