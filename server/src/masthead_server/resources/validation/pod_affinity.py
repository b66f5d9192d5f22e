"""Validation of where a pod may run: affinity to nodes and to other pods, and topology spread constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import EnumText, duplicate, forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.checks import (
    choice_errors,
    each_of,
    follows,
    label_selector,
    operands,
    texts_of,
    unsupported,
    words,
)
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["affinity_errors", "node_selector_errors", "spread_errors"]

_SPREAD_CHOICES: Final = {"nodeAffinityPolicy": ("Honor", "Ignore"), "nodeTaintsPolicy": ("Honor", "Ignore")}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def spread_errors(spec: Plain, path: str) -> Errors:
    """Validate the topology spread constraints of a pod."""
    errors: Errors = []
    for index, (at, constraint) in enumerate(each_of(spec, "topologySpreadConstraints", path)):
        if (constraint.get("maxSkew") or 0) <= 0:
            errors.append(invalid(f"{at}.maxSkew", constraint.get("maxSkew") or 0, "must be greater than zero"))
        if not constraint.get("topologyKey"):
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        known, choice = ("DoNotSchedule", "ScheduleAnyway"), constraint.get("whenUnsatisfiable", "")
        if choice not in known:
            errors.append(unsupported(f"{at}.whenUnsatisfiable", choice, known))
        # The first of two equal constraints is reported.
        if _spread_kind(constraint) in map(_spread_kind, items(spec, "topologySpreadConstraints")[index + 1 :]):
            where = f"{at}.{{topologyKey, whenUnsatisfiable}}"
            errors.append(duplicate(where, f"{{{', '.join(_spread_kind(constraint))}}}"))
        if constraint.get("minDomains") is not None:
            errors += _domain_errors(f"{at}.minDomains", constraint["minDomains"], choice)
        errors += choice_errors(at, constraint, _SPREAD_CHOICES)
        if "matchLabelKeys" in constraint:
            errors += _label_key_errors(constraint, at)
        errors += label_selector(f"{at}.labelSelector", part(constraint, "labelSelector"))
    return errors


def _spread_kind(constraint: Plain) -> tuple[str, str]:
    return text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable")


def _domain_errors(path: str, count: int, choice: str) -> Errors:
    errors = [invalid(path, count, "must be greater than zero")] if count <= 0 else []
    # Only a filter of nodes counts domains, not a preference.
    if choice != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {choice}"
        errors.append(invalid(path, count, why))
    return errors


def _label_key_errors(term: Plain, path: str) -> Errors:
    """Validate the keys of labels whose values a pod adds to its selector."""
    errors: Errors = []
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if words(term, field) and term.get("labelSelector") is None:
            errors.append(forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
            continue
        for at, key in texts_of(term, field, path):
            errors += follows(at, key, names.qualified_name)
    matched, mismatched = words(term, "matchLabelKeys"), set(words(term, "mismatchLabelKeys"))
    errors += _repeated_key_errors(part(term, "labelSelector"), matched, path)
    why = "exists in both matchLabelKeys and mismatchLabelKeys"
    common = [(index, key) for index, key in enumerate(matched) if key in mismatched]
    return errors + [invalid(f"{path}.matchLabelKeys[{index}]", key, why) for index, key in common]


def _repeated_key_errors(selector: Plain, matched: list[str], path: str) -> Errors:
    """Validate that a selector had no requirement for a key before the server added one."""
    errors: Errors = []
    seen = set(part(selector, "matchLabels"))
    places = {key: index for index, key in enumerate(matched)}
    for requirement in items(selector, "matchExpressions"):
        key = text(requirement, "key")
        if key in places and key in seen:
            # kube-apiserver's path lacks the name of the field.
            why = "exists in both matchLabelKeys and labelSelector"
            errors.append(invalid(f"{path}[{places[key]}]", key, why))
        seen.add(key)
    return errors


def affinity_errors(affinity: Plain, path: str) -> Errors:
    """Validate the affinity of a pod."""
    errors: Errors = []
    node, at = part(affinity, "nodeAffinity"), f"{path}.nodeAffinity"
    if node.get(_REQUIRED) is not None:
        errors += node_selector_errors(f"{at}.{_REQUIRED}", part(node, _REQUIRED))
    for where, term in each_of(node, _PREFERRED, at):
        errors += _weight_errors(where, term)
        # A preference for an impossible value is as good as none.
        errors += _node_term_errors(f"{where}.preference", part(term, "preference"), has_any_value=True)
    for side in ("podAffinity", "podAntiAffinity"):
        pods, at = part(affinity, side), f"{path}.{side}"
        for where, term in each_of(pods, _REQUIRED, at):
            errors += _pod_term_errors(where, term)
        for where, term in each_of(pods, _PREFERRED, at):
            errors += _weight_errors(where, term)
            errors += _pod_term_errors(f"{where}.podAffinityTerm", part(term, "podAffinityTerm"))
    return errors


def _weight_errors(path: str, term: Plain) -> Errors:
    weight = term.get("weight") or 0
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def node_selector_errors(path: str, selector: Plain) -> Errors:
    """Validate which nodes are selected."""
    if not items(selector, "nodeSelectorTerms"):
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [error for at, term in each_of(selector, "nodeSelectorTerms", path) for error in _node_term_errors(at, term)]


def _node_term_errors(path: str, term: Plain, *, has_any_value: bool = False) -> Errors:
    errors: Errors = []
    for at, requirement in each_of(term, "matchExpressions", path):
        operator = text(requirement, "operator")
        errors += operands(at, requirement)
        if operator in {"Gt", "Lt"}:
            if len(requirement.get("values") or ()) != 1:
                why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                errors.append(required(f"{at}.values", why))
        elif operator not in {"In", "NotIn", "Exists", "DoesNotExist"}:
            errors.append(invalid(f"{at}.operator", EnumText(operator), "not a valid selector operator"))
        errors += follows(f"{at}.key", text(requirement, "key"), names.qualified_name)
        for where, value in () if has_any_value else texts_of(requirement, "values", at):
            errors += follows(where, value, names.LABEL_VALUE)
    for at, requirement in each_of(term, "matchFields", path):
        errors += _node_field_errors(at, requirement)
    return errors


def _node_field_errors(path: str, requirement: Plain) -> Errors:
    """Validate a requirement about a field of nodes: only names can be selected, one at a time."""
    errors: Errors = []
    if text(requirement, "operator") not in {"In", "NotIn"}:
        operator = EnumText(text(requirement, "operator"))
        errors.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(requirement.get("values") or ()) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", why))
    if text(requirement, "key") != "metadata.name":
        return [*errors, invalid(f"{path}.key", text(requirement, "key"), "not a valid field selector key")]
    for at, value in texts_of(requirement, "values", path):
        errors += follows(at, value, names.SUBDOMAIN)
    return errors


def _pod_term_errors(path: str, term: Plain) -> Errors:
    errors = label_selector(f"{path}.labelSelector", part(term, "labelSelector"))
    errors += label_selector(f"{path}.namespaceSelector", part(term, "namespaceSelector"))
    for _, name in texts_of(term, "namespaces", path):
        errors += follows(f"{path}.namespace", name, names.label)
    if "matchLabelKeys" in term or "mismatchLabelKeys" in term:
        errors += _label_key_errors(term, path)
    # An empty key gets both errors.
    if not term.get("topologyKey"):
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + follows(f"{path}.topologyKey", text(term, "topologyKey"), names.qualified_name)
