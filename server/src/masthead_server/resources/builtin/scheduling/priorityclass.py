"""PriorityClasses: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import immutable, one_of
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(unset={"preemptionPolicy": "PreemptLowerPriority"})

_MAX_VALUE: Final = 1_000_000_000


def priority_errors(found: Plain) -> Errors:
    """Return the errors of a PriorityClass."""
    name = text(metadata(found), "name")
    errors: Errors = []
    # Values above the user maximum are reserved for these two names.
    if name.startswith("system-"):
        why = "priority class names with 'system-' prefix are reserved for system use only. error: "
        if name not in {"system-node-critical", "system-cluster-critical"}:
            why += f"{name} is not a known system priority class"
            errors.append(forbidden("metadata.name", why))
    elif (found.get("value") or 0) > _MAX_VALUE:
        why = f"maximum allowed value of a user defined priority is {_MAX_VALUE}"
        errors.append(forbidden("value", why))
    policies = ("PreemptLowerPriority", "Never")
    return errors + one_of("preemptionPolicy", found.get("preemptionPolicy"), policies)


def priority_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a PriorityClass."""
    errors: Errors = []
    if (new.get("value") or 0) != (old.get("value") or 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS, hooks=StrategyHooks(validate_create=priority_errors, validate_update=priority_changes)
)
