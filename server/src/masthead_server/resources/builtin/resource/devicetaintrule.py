"""DeviceTaintRules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.resource.device_taints import TIME_ADDED, set_time_added
from masthead_server.resources.validation.status import condition_errors
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _date_rule(rule: Plain, now: str) -> None:
    part(part(rule, "spec"), "taint").setdefault(TIME_ADDED, now)


def _renew_rule(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Update the time of a taint whose effect changes, unless the writer sets one."""
    after, before = (part(part(state, "spec"), "taint") for state in (new, old))
    if after.get("effect") != before.get("effect") and after.get(TIME_ADDED) == before.get(TIME_ADDED):
        after.pop(TIME_ADDED, None)
    set_time_added(after, allocate)


BEHAVIOR: Final = Behavior(
    default_times=_date_rule,
    hooks=StrategyHooks(
        reallocate=_renew_rule,
        validate_status=lambda new, _old: condition_errors(part(new, "status")),
    ),
)
