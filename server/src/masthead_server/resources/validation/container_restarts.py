"""Validation of when a container is restarted: after an exit, and after a resize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import EnumText, duplicate, invalid, required, too_many
from masthead_server.resources.validation.checks import each_of, unsupported
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["init_restart_errors", "resize_policy_errors", "restart_errors"]

_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RESOURCES: Final = ("cpu", "memory")
_RESIZES: Final = ("NotRequired", "RestartContainer")
_MAX_RULES: Final = 20
_MAX_CODES: Final = 255


def restart_errors(container: Plain, path: str) -> Errors:
    """Validate the restart policy of a container, and its exceptions by exit code."""
    policy, rules = container.get("restartPolicy"), items(container, "restartPolicyRules")
    errors: Errors = []
    if policy is None and rules:
        errors.append(required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"))
    elif policy is not None and policy not in _POLICIES:
        errors.append(unsupported(f"{path}.restartPolicy", policy, _POLICIES))
    if len(rules) > _MAX_RULES:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RULES))
    for at, rule in each_of(container, "restartPolicyRules", path):
        errors += _rule_errors(rule, at)
    return errors


def _rule_errors(rule: Plain, path: str) -> Errors:
    action, at = text(rule, "action"), f"{path}.exitCodes"
    errors = [] if action in _ACTIONS else [unsupported(f"{path}.action", action, _ACTIONS)]
    if rule.get("exitCodes") is None:
        return [*errors, required(at, "must be specified")]
    codes = part(rule, "exitCodes")
    operator, count = text(codes, "operator"), len(codes.get("values") or ())
    if operator not in _OPERATORS:
        errors.append(unsupported(f"{at}.operator", operator, _OPERATORS))
    return [*errors, too_many(f"{at}.values", count, _MAX_CODES)] if count > _MAX_CODES else errors


def init_restart_errors(container: Plain, path: str) -> Errors:
    """Validate the restart policy of an init container, whose rules need a policy before all else."""
    if container.get("restartPolicy") is not None:
        return restart_errors(container, path)
    if not items(container, "restartPolicyRules"):
        return []
    return [required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")]


def resize_policy_errors(container: Plain, path: str, restart_policy: str) -> Errors:
    """Validate which resizes restart a container.

    Args:
        container: The container.
        path: Its path.
        restart_policy: The restart policy of the pod.
    """
    errors: Errors = []
    seen: set[str] = set()
    at = f"{path}.resizePolicy"
    for index, policy in enumerate(items(container, "resizePolicy")):
        resource, restart = text(policy, "resourceName"), text(policy, "restartPolicy")
        if resource in seen:
            errors.append(duplicate(f"{at}[{index}]", EnumText(resource)))
        seen.add(resource)
        # Apart from the last one, kube-apiserver's paths of these errors lack the index.
        for value, known in ((resource, _RESOURCES), (restart, _RESIZES)):
            if value not in known:
                errors.append(unsupported(at, value, known) if value else required(at))
        if restart_policy == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(at, EnumText(restart), why))
    return errors
