"""DaemonSets: defaults, validation and warnings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.defaulting.fill import rolling_update, shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.strategy import alike
from masthead_server.resources.validation.checks import label_selector, unsupported, up_to_all, whole_or_percent
from masthead_server.resources.validation.pod_controllers import (
    NO_PODS,
    TEMPLATE_PATH,
    mismatch_errors,
    number_errors,
    restart_policy_errors,
    selector_changes,
    shown_strategy,
    size_of,
)
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.resources.validation.status import counters
from masthead_server.resources.warnings.pod_controllers import template_warnings_of
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

_ROLLING: Final = rolling_update(maxUnavailable=1, maxSurge=0)


def _fill_strategy(strategy: Plain) -> None:
    _ROLLING(strategy)
    # The strategy of another type has no defaults, but kube-apiserver's own type cannot tell 0 from none.
    if strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"] = {**NO_PODS, **strategy["rollingUpdate"]}


DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            unset={"revisionHistoryLimit": 10},
            always={"updateStrategy": _fill_strategy, "template": TEMPLATE},
        )
    }
)


def daemon_set_errors(daemon_set: Plain) -> Errors:
    """Return the errors of a DaemonSet."""
    spec = part(daemon_set, "spec")
    selector, template = spec.get("selector"), part(spec, "template")
    errors = label_selector("spec.selector", selector or {})
    # An invalid selector matches nothing; a mismatch would only repeat the error.
    errors += [] if errors else mismatch_errors(selector, template)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid("spec.selector", {}, "empty selector is invalid for daemonset"))
    errors += template_errors(template, TEMPLATE_PATH)
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
    # The selector comes first here; a Deployment reports it last.
    return selector_changes(new, old) + daemon_set_errors(new)


_DAEMONS_GENERATION: Final = "deprecated.daemonset.template.generation"


def change_warnings(new: Plain, old: Plain) -> list[str]:
    """Return the warnings about a change of a DaemonSet."""

    def generation(obj: Plain) -> object:
        return part(part(obj, "metadata"), "annotations").get(_DAEMONS_GENERATION)

    # A new number means a new template; the warnings of an old one were given before.
    return template_warnings_of(new) if generation(new) != generation(old) else []


_GENERATION: Final = "deprecated.daemonset.template.generation"


def _count_template(daemon_set: Plain, number: int) -> None:
    meta = metadata(daemon_set)
    meta["annotations"] = {**(meta.get("annotations") or {}), _GENERATION: str(number)}


def _template_number(daemon_set: Plain) -> int:
    stated = part(metadata(daemon_set), "annotations").get(_GENERATION, "")
    # As a number of 64 bits; anything else is invalid.
    return int(stated) if re.fullmatch("0*[0-9]{1,18}", str(stated)) else 0


def _set_defaults(daemon_set: Plain) -> None:
    """Set the defaults, and the template generation, which is internal in kube-apiserver: every object has one."""
    DEFAULTS(daemon_set)
    _count_template(daemon_set, _template_number(daemon_set))


_drop_new_fields: Final = dropped_from_new_template("spec", "template")
_drop_fields: Final = dropped_from_template("spec", "template")


def _prepare_daemon_set(daemon_set: Plain, allocate: Allocator) -> None:
    _drop_new_fields(daemon_set, allocate)
    _count_template(daemon_set, max(1, _template_number(daemon_set)))


def _carry_daemon_set(new: Plain, old: Plain) -> None:
    _drop_fields(new, old)
    # The server counts; a number that the client sends is ignored.
    changed = not alike(part(new, "spec").get("template"), part(old, "spec").get("template"))
    # A changed template adds one: Python's True is 1.
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
