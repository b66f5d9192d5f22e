"""PodDisruptionBudgets: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import known_or_nothing, label_selector, up_to_all, whole_or_percent
from masthead_server.resources.validation.label_selectors import shown_selector
from masthead_server.resources.validation.status import condition_errors, counters
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def budget_errors(budget: Plain) -> Errors:
    """Return the errors of a PodDisruptionBudget."""
    spec = part(budget, "spec")
    errors: Errors = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid("spec", _shown_budget(spec), why))
    for field in ("minAvailable", "maxUnavailable"):
        path, value = f"spec.{field}", spec.get(field)
        errors += whole_or_percent(path, value) + up_to_all(path, value)
    errors += label_selector("spec.selector", part(spec, "selector"))
    policies = ("AlwaysAllow", "IfHealthyBudget")
    policy = spec.get("unhealthyPodEvictionPolicy")
    return errors + known_or_nothing("spec.unhealthyPodEvictionPolicy", policy, policies)


def _shown_budget(spec: Plain) -> Plain:
    """A budget as messages of kube-apiserver print it, in its internal type."""
    fields = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    shown = {field[0].upper() + field[1:]: spec.get(field) for field in fields}
    return {**shown, "Selector": shown_selector(spec.get("selector"))}


def budget_status_errors(new: Plain, old: Plain) -> Errors:
    """Validate what a disruption budget allows."""
    return condition_errors(part(new, "status")) + _counter_errors(new, old)


_counter_errors: Final = counters("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        validate_create=budget_errors,
        validate_update=lambda new, _old: budget_errors(new),
        validate_status=budget_status_errors,
    )
)
