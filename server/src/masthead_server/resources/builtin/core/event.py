"""Events: validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import follows
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

CONTROLLER: Final = "reportingComponent"


def event_errors(event: Plain, controller: str = CONTROLLER) -> Errors:
    """Validate that an event is in the namespace of its involved object.

    Args:
        event: The event, in the words of the core group, in which it is stored.
        controller: What messages call the one who reports it.
    """
    namespace = text(metadata(event), "namespace")
    about = text(part(event, "involvedObject"), "namespace")
    # An event without eventTime is one of the old form, for which kube-apiserver has older rules.
    cluster = {"default"} if not event.get("eventTime") else {"default", "kube-system"}
    apart = namespace not in {"", *cluster} if not about else not event.get("eventTime") and about != namespace
    errors: Errors = []
    if apart:
        errors.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
    return errors + (_new_event_errors(event, controller) if event.get("eventTime") else [])


def _new_event_errors(event: Plain, controller: str) -> Errors:
    errors: Errors = [] if event.get(CONTROLLER) else [required(controller)]
    # An empty name is also no qualified name, and gets both errors.
    errors += follows(controller, text(event, CONTROLLER), names.qualified_name)
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            errors.append(required(field))
        elif len(text(event, field)) > 128:
            errors.append(invalid(field, "", "can have at most 128 characters"))
    if len(text(event, "message")) > 1024:
        errors.append(invalid("message", "", "can have at most 1024 characters"))
    return errors


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=event_errors, validate_update=lambda new, _old: event_errors(new))
)
