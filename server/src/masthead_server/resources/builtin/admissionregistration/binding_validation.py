"""Validation of the bindings of admission policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.builtin.admissionregistration.policy_validation import match_errors, operation_errors
from masthead_server.resources.validation.checks import label_selector, unsupported, words
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["action_errors", "binding_errors"]

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS: Final = ("Deny", "Allow")


def binding_errors(spec: Plain, operations: tuple[str, ...] = ()) -> Errors:
    """Return the errors of the spec of a binding, without its actions.

    Args:
        spec: The spec.
        operations: The only operations of a mutating policy; empty for a validating one.
    """
    name = text(spec, "policyName")
    errors: Errors = []
    if not name:
        errors.append(required("spec.policyName"))
    else:
        errors += [invalid("spec.policyName", name, problem) for problem in names.SUBDOMAIN(name)]
    if spec.get("paramRef") is not None:
        errors += _param_errors(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        errors += match_errors(spec["matchResources"], "spec.matchResources")
        errors += operation_errors(spec["matchResources"], "spec.matchResources", operations)
    return errors


def _param_errors(reference: Plain, path: str) -> Errors:
    name, selector = text(reference, "name"), reference.get("selector")
    errors: Errors = []
    conflict = "name and selector are mutually exclusive"
    if name:
        errors += [invalid(f"{path}.name", name, problem) for problem in names.path_segment(name)]
        if selector is not None:
            errors.append(forbidden(f"{path}.name", conflict))
    if selector is not None:
        errors += label_selector(f"{path}.selector", part(reference, "selector"))
        if name:
            errors.append(forbidden(f"{path}.selector", conflict))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction")
    if not action:
        errors.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in _NOT_FOUND_ACTIONS:
        errors.append(unsupported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND_ACTIONS))
    return errors


def action_errors(spec: Plain) -> Errors:
    """Return the errors of the actions of a validating binding."""
    actions, path = words(spec, "validationActions"), "spec.validationActions"
    errors: Errors = []
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(unsupported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            errors.append(duplicate(f"{path}[{index}]", action))
    if {"Deny", "Warn"} <= set(actions):
        why = "repeating the same validation failure information in the API response and headers serves no purpose"
        errors.append(invalid(path, actions, f"must not contain both Deny and Warn ({why})"))
    if not actions:
        errors.append(required(path, "at least one validation action is required"))
    return errors
