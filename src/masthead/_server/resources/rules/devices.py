"""Devices that pods share: taints say since when they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.rules.statuses import condition_errors
from masthead._server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.wire.plain import Plain

_SINCE: Final = "timeAdded"


def _date(taint: Plain, allocate: Allocator) -> None:
    if taint.get(_SINCE) is None:
        taint[_SINCE] = allocate.now()


def _prepare_rule(rule: Plain, allocate: Allocator) -> None:
    _date(part(part(rule, "spec"), "taint"), allocate)


def _renew_rule(new: Plain, old: Plain, allocate: Allocator) -> None:
    """Date a taint anew whose effect is another, unless the writer does."""
    after, before = (part(part(each, "spec"), "taint") for each in (new, old))
    if after.get("effect") != before.get("effect") and after.get(_SINCE) == before.get(_SINCE):
        after.pop(_SINCE, None)
    _date(after, allocate)


def _prepare_slice(resource_slice: Plain, allocate: Allocator) -> None:
    for device in items(part(resource_slice, "spec"), "devices"):
        for taint in items(device, "taints"):
            _date(taint, allocate)


RULES: Final = {
    "devicetaintrules": StrategyHooks(
        prepare_create=_prepare_rule,
        reallocate=_renew_rule,
        validate_status=lambda new, _old: condition_errors(part(new, "status")),
    ),
    "resourceslices": StrategyHooks(
        prepare_create=_prepare_slice,
        reallocate=lambda new, _old, allocate: _prepare_slice(new, allocate),
    ),
}
