"""DeviceTaintRules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import too_many
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.resource.checks import (
    driver_errors,
    pool_errors,
    short_name_errors,
    taint_errors,
)
from masthead_server.resources.builtin.resource.device_taints import TIME_ADDED, set_time_added
from masthead_server.resources.validation.status import condition_errors
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def _date_rule(rule: Plain, now: str) -> None:
    part(part(rule, "spec"), "taint").setdefault(TIME_ADDED, now)


def _renew_rule(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Update the time of a taint whose effect changes, unless the writer sets one."""
    after, before = (part(part(state, "spec"), "taint") for state in (new, old))
    if after.get("effect") != before.get("effect") and after.get(TIME_ADDED) == before.get(TIME_ADDED):
        after.pop(TIME_ADDED, None)
    set_time_added(after, allocate)


_SELECTOR_CHECKS: Final = {"driver": driver_errors, "pool": pool_errors, "device": short_name_errors}
_MAX_CONDITIONS: Final = 8


def rule_errors(rule: Plain, old: Plain | None = None) -> Errors:
    """Return the errors of a DeviceTaintRule."""
    spec = part(rule, "spec")
    selector = part(spec, "deviceSelector")
    errors: Errors = []
    for field, check in _SELECTOR_CHECKS.items():
        if selector.get(field) is not None:
            errors += check(f"spec.deviceSelector.{field}", selector[field])
    before = None if old is None else part(part(old, "spec"), "taint")
    return errors + taint_errors("spec.taint", part(spec, "taint"), before)


def _status_errors(rule: Plain, _old: Plain) -> Errors:
    status = part(rule, "status")
    errors = condition_errors(status)
    count = len(items(status, "conditions"))
    return errors if count <= _MAX_CONDITIONS else [*errors, too_many("status.conditions", count, _MAX_CONDITIONS)]


BEHAVIOR: Final = Behavior(
    default_times=_date_rule,
    hooks=StrategyHooks(
        reallocate=_renew_rule,
        validate_create=rule_errors,
        validate_update=rule_errors,
        validate_status=_status_errors,
    ),
)
