"""RuntimeClasses: validation and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.validation.checks import each_of, given, immutable, labels
from masthead_server.resources.validation.internal_types import inner
from masthead_server.resources.validation.pod_spec import toleration_errors
from masthead_server.resources.validation.resource_requirements import requirement_errors
from masthead_server.resources.warnings.node_labels import DEPRECATED
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def runtime_errors(found: Plain) -> Errors:
    """Return the errors of a RuntimeClass."""
    errors = given("handler", found.get("handler"), names.label)
    # What a pod costs on top of its containers is checked as if it were a container's limit.
    fixed = part(part(found, "overhead"), "podFixed")
    errors += requirement_errors("overhead", {"limits": fixed}, set())
    scheduling = part(found, "scheduling")
    errors += labels("scheduling.nodeSelector", part(scheduling, "nodeSelector"))
    errors += toleration_errors(scheduling, "scheduling")
    seen: set[tuple[str, ...]] = set()
    for at, toleration in each_of(scheduling, "tolerations", "scheduling"):
        key = tuple(text(toleration, field) for field in ("key", "operator", "value", "effect"))
        if key in seen:
            errors.append(duplicate(at, inner("Toleration", toleration)))
        seen.add(key)
    return errors


def runtime_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a RuntimeClass."""
    errors = given("handler", new.get("handler"), names.label)
    return errors + immutable("handler", text(new, "handler"), text(old, "handler"))


def runtime_class_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a RuntimeClass."""
    selector = part(part(obj, "scheduling"), "nodeSelector")
    return [f"scheduling.nodeSelector: {DEPRECATED[key]}" for key in selector if key in DEPRECATED]


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=runtime_errors, validate_update=runtime_changes),
    warnings=always(runtime_class_warnings),
)
