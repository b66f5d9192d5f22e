"""Validation of the failure policy and the success policy of a Job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead._schema.errors import (
    OMITTED,
    duplicate,
    invalid,
    required,
    too_long,
    too_many,
)
from masthead_server.resources import names
from masthead_server.resources.validation.checks import each_of, follows, not_negative, unsupported
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["failure_policy_errors", "success_policy_errors"]

_MAX_RULES: Final = 20
_MAX_CODES: Final = 255
_MAX_INDEXES_LENGTH: Final = 64 * 1024
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_INDEXED: Final = "requires indexed completion mode"
# At most 18 digits: more exceed any number of completions, and Python converts them slowly.
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def failure_policy_errors(spec: Plain, path: str) -> Errors:
    """Return the errors of the failure policy in the spec of a Job."""
    if spec.get("podFailurePolicy") is None:
        return []
    policy, path = part(spec, "podFailurePolicy"), f"{path}.podFailurePolicy"
    rules = items(policy, "rules")
    errors: Errors = []
    if len(rules) > _MAX_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    for at, rule in each_of(policy, "rules", path):
        errors += _action_errors(text(rule, "action"), f"{at}.action", spec)
        errors += _rule_errors(rule, at, spec)
    return errors


def _action_errors(action: str, path: str, spec: Plain) -> Errors:
    # Only a limit for each index gives the action a meaning.
    if action == "FailIndex":
        is_set = spec.get("backoffLimitPerIndex") is not None
        return [] if is_set else [invalid(path, action, "requires the backoffLimitPerIndex to be set")]
    return _choice_errors(path, action, _ACTIONS)


def _choice_errors(path: str, value: str, known: Sequence[str]) -> Errors:
    if not value:
        # The message prints a Go slice of quoted strings.
        return [required(path, f"valid values: [{' '.join(map(quoted, known))}]")]
    return [] if value in known else [unsupported(path, value, known)]


def _rule_errors(rule: Plain, path: str, spec: Plain) -> Errors:
    conditions = items(rule, "onPodConditions")
    has_codes = rule.get("onExitCodes") is not None
    errors: Errors = []
    if has_codes:
        errors += _code_errors(part(rule, "onExitCodes"), f"{path}.onExitCodes", spec)
    if len(conditions) > _MAX_RULES:
        errors.append(too_many(f"{path}.onPodConditions", len(conditions), _MAX_RULES))
    for at, condition in each_of(rule, "onPodConditions", path):
        errors += follows(f"{at}.type", text(condition, "type"), names.qualified_name)
        errors += _choice_errors(f"{at}.status", text(condition, "status"), _STATUSES)
    if has_codes and conditions:
        why = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(invalid(path, OMITTED, why))
    if not has_codes and not conditions:
        why = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(invalid(path, OMITTED, why))
    return errors


def _code_errors(requirement: Plain, path: str, spec: Plain) -> Errors:
    operator, name = text(requirement, "operator"), requirement.get("containerName")
    # Absent and empty are both an error, but the message shows null for the one and a list for the other.
    codes: list[int] = requirement.get("values") or []
    errors = _choice_errors(f"{path}.operator", operator, _OPERATORS)
    # An empty name is a name, and matches no container.
    if name is not None and name not in _container_names(spec):
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", name, why))
    if not codes:
        errors.append(invalid(f"{path}.values", requirement.get("values"), "at least one value is required"))
    elif len(codes) > _MAX_CODES:
        errors.append(too_many(f"{path}.values", len(codes), _MAX_CODES))
    seen: set[int] = set()
    for index, code in enumerate(codes):
        at = f"{path}.values[{index}]"
        # A container that exits with 0 has not failed.
        if operator == "In" and code == 0:
            errors.append(invalid(at, code, "must not be 0 for the In operator"))
        if code in seen:
            errors.append(duplicate(at, code))
        seen.add(code)
    if codes != sorted(codes):
        errors.append(invalid(f"{path}.values", codes, "must be ordered"))
    return errors


def _container_names(spec: Plain) -> set[str]:
    pod = part(part(spec, "template"), "spec")
    return {text(item, "name") for field in ("containers", "initContainers") for item in items(pod, field)}


def success_policy_errors(spec: Plain, path: str) -> Errors:
    """Return the errors of the success policy in the spec of a Job."""
    if spec.get("successPolicy") is None:
        return []
    policy, path = part(spec, "successPolicy"), f"{path}.successPolicy"
    rules = items(policy, "rules")
    # The message shows the policy in kube-apiserver's internal type, with Go's field names.
    if spec.get("completionMode") != "Indexed":
        fields = ("succeededIndexes", "succeededCount")
        shown = [{name[0].upper() + name[1:]: policy_rule.get(name) for name in fields} for policy_rule in rules]
        return [invalid(path, {"Rules": shown if policy.get("rules") else None}, _INDEXED)]
    errors: Errors = []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", why))
    if len(rules) > _MAX_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    for at, rule in each_of(policy, "rules", path):
        errors += _success_errors(rule, at, spec.get("completions") or 0)
    return errors


def _success_errors(rule: Plain, path: str, completions: int) -> Errors:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    errors: Errors = []
    if indexes is None and count is None:
        why = "at least one of succeededCount or succeededIndexes must be specified"
        errors.append(required(path, why))
    total = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        # Parsed even if it is too long, so that both errors are reported.
        errors += [too_long(at, _MAX_INDEXES_LENGTH)] if len(indexes) > _MAX_INDEXES_LENGTH else []
        try:
            total = _count_indexes(indexes, completions)
        except ValueError as error:
            errors.append(invalid(at, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        # Without indexes, the count is limited by the completions alone.
        errors += _count_errors(count, f"{path}.succeededCount", completions, None if indexes is None else total)
    return errors


def _count_errors(count: int, path: str, completions: int, indexes: int | None) -> Errors:
    errors = not_negative(path, count)
    limit = "must be less than or equal to"
    if count > completions:
        why = f"{limit} {completions} (the number of specified completions)"
        errors.append(invalid(path, count, why))
    if indexes is not None and count > indexes:
        why = f"{limit} {indexes} (the number of indexes in the specified succeededIndexes field)"
        errors.append(invalid(path, count, why))
    return errors


def _count_indexes(text_: str, completions: int) -> int:
    """Count the indexes of intervals such as ``0,2-4``.

    Raises:
        ValueError: If they are malformed, too large or not increasing; the message is kube-apiserver's.
    """
    total, last = 0, None
    for interval in text_.split(",") if text_ else ():
        first, end = _interval(interval, completions)
        # Intervals must rise, or an index could count twice.
        if last is not None and last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _interval(text_: str, completions: int) -> tuple[int, int]:
    limits = text_.split("-")
    if len(limits) > 2:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f"the fragment {quoted(text_)} {why}")
    numbers: list[int] = []
    for limit in limits:
        if not _INTEGER.fullmatch(limit):
            raise ValueError(f"cannot convert string to integer for index: {quoted(limit)}")
        # Indexes start at 0.
        if int(limit) >= completions:
            raise ValueError(f"too large index: {quoted(limit)}")
        numbers.append(int(limit))
    first, end = numbers[0], numbers[-1]
    # Within an interval, equal ends are refused as well: "3-3" has to be written "3".
    if len(numbers) == 2 and first >= end:
        raise ValueError(f"non-increasing order, previous: {first}, current: {end}")
    return first, end
