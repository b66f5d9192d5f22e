"""Behavior of DaemonSets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.apps.daemonset.defaults import DEFAULTS
from masthead_server.resources.builtin.apps.daemonset.validation import daemon_set_changes, daemon_set_errors
from masthead_server.resources.builtin.apps.daemonset.warnings import change_warnings
from masthead_server.resources.strategy import alike
from masthead_server.resources.validation.status import counters
from masthead_server.resources.warnings.pod_controllers import template_warnings_of
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

_GENERATION: Final = "deprecated.daemonset.template.generation"


def _count_template(daemon_set: Plain, number: int) -> None:
    meta = metadata(daemon_set)
    meta["annotations"] = {**(meta.get("annotations") or {}), _GENERATION: str(number)}


def _template_number(daemon_set: Plain) -> int:
    stated = part(metadata(daemon_set), "annotations").get(_GENERATION, "")
    # As a number of 64 bits; anything else is invalid.
    return int(stated) if re.fullmatch("0*[0-9]{1,18}", str(stated)) else 0


def _set_defaults(daemon_set: Plain) -> None:
    """Set the defaults. The number of the template is an internal field in kube-apiserver, so every object has it."""
    DEFAULTS(daemon_set)
    _count_template(daemon_set, _template_number(daemon_set))


def _prepare_daemon_set(daemon_set: Plain, _allocate: Allocator) -> None:
    _count_template(daemon_set, max(1, _template_number(daemon_set)))


def _carry_daemon_set(new: Plain, old: Plain) -> None:
    changed = not alike(part(new, "spec").get("template"), part(old, "spec").get("template"))
    _count_template(new, _template_number(old) + changed)


BEHAVIOR: Final = Behavior(
    defaults=_set_defaults,
    hooks=StrategyHooks(
        prepare_create=_prepare_daemon_set,
        prepare_update=_carry_daemon_set,
        validate_create=daemon_set_errors,
        validate_update=daemon_set_changes,
        validate_status=counters(
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ),
    ),
    warnings=WarningHooks(template_warnings_of, change_warnings),
)
