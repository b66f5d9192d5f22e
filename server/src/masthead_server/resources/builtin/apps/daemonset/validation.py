"""Validation of DaemonSets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import invalid, required
from masthead_server.resources.validation.checks import (
    label_selector,
    unsupported,
    up_to_all,
    whole_or_percent,
)
from masthead_server.resources.validation.pod_controllers import (
    TEMPLATE,
    mismatch_errors,
    number_errors,
    restart_policy_errors,
    selector_changes,
    shown_strategy,
    size_of,
)
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def daemon_set_errors(daemon_set: Plain) -> Errors:
    """Return the errors of a DaemonSet."""
    spec = part(daemon_set, "spec")
    selector, template = spec.get("selector"), part(spec, "template")
    errors = label_selector("spec.selector", selector or {})
    errors += [] if errors else mismatch_errors(selector, template)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", {}, "empty selector is invalid for daemonset"))
    errors += template_errors(template, TEMPLATE)
    errors += restart_policy_errors(spec, "DaemonSet") + number_errors(spec, "minReadySeconds")
    errors += _daemon_strategy_errors(part(spec, "updateStrategy"))
    return errors + number_errors(spec, "revisionHistoryLimit")


def _daemon_strategy_errors(strategy: Plain) -> Errors:
    path, kind = "spec.updateStrategy", strategy.get("type")
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        return [unsupported(path, shown_strategy(strategy), ("RollingUpdate", "OnDelete"))]
    rolling, path = part(strategy, "rollingUpdate"), f"{path}.rollingUpdate"
    down, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = whole_or_percent(f"{path}.maxUnavailable", down) + whole_or_percent(f"{path}.maxSurge", surge)
    errors += up_to_all(f"{path}.maxUnavailable", down) + up_to_all(f"{path}.maxSurge", surge)
    # A node has one pod of a DaemonSet: either the old one stops first, or the new one starts first.
    if size_of(down) and size_of(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not size_of(down) and not size_of(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def daemon_set_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a DaemonSet."""
    return selector_changes(new, old) + daemon_set_errors(new)
