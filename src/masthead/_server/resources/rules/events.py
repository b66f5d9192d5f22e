"""Events: they must be where the object is that they tell of, and new ones must be complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources import names
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.validation.checks import IMMUTABLE, follows, same
from masthead._server.resources.validation.internal_types import inner
from masthead._server.wire.failures import invalid, required
from masthead._server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_CONTROLLER: Final = "reportingComponent"
_NEW_CONTROLLER: Final = "reportingController"
"""What the new group calls it."""


def _event_errors(event: Plain, controller: str = _CONTROLLER) -> Errors:
    """Check that an event is where the object is that it tells of.

    Args:
        event: The event, in the words of the core group, in which it is stored.
        controller: What messages call the one who reports it.
    """
    namespace = text(metadata(event), "namespace")
    about = text(part(event, "involvedObject"), "namespace")
    cluster = {"default"} if not event.get("eventTime") else {"default", "kube-system"}
    apart = (
        namespace not in {"", *cluster} if not about else not event.get("eventTime") and about != namespace
    )
    errors: Errors = []
    if apart:
        errors.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
    return errors + (_new_event_errors(event, controller) if event.get("eventTime") else [])


def _new_event_errors(event: Plain, controller: str) -> Errors:
    errors: Errors = [] if event.get(_CONTROLLER) else [required(controller)]
    errors += follows(controller, text(event, _CONTROLLER), names.qualified_name)
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            errors.append(required(field))
        elif len(text(event, field)) > 128:
            errors.append(invalid(field, "", "can have at most 128 characters"))
    if len(text(event, "message")) > 1024:
        errors.append(invalid("message", "", "can have at most 1024 characters"))
    return errors


_OLD_FIELDS: Final = ("firstTimestamp", "lastTimestamp", "count", "source")
"""What events of the new group may not have."""


def _series_errors(event: Plain) -> Errors:
    errors: Errors = []
    if event.get("series") is not None:
        series = part(event, "series")
        if (series.get("count") or 0) < 2:
            errors.append(invalid("series.count", "", "should be at least 2"))
        if not series.get("lastObservedTime"):
            errors.append(required("series.lastObservedTime"))
    return errors


def _strict_errors(event: Plain) -> Errors:
    errors = _event_errors(event, _NEW_CONTROLLER) + _series_errors(event)
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    if event.get("type") not in {"Normal", "Warning"}:
        errors.append(invalid("type", "", f"has invalid value: {text(event, 'type')}"))
    return errors + [invalid(each, "", "needs to be unset") for each in _OLD_FIELDS if event.get(each)]


_FIXED: Final = (
    "involvedObject",
    "reason",
    "message",
    *_OLD_FIELDS,
    "type",
    "eventTime",
    "action",
    "related",
    _CONTROLLER,
    "reportingInstance",
)
"""What an event of the new group keeps."""


_STRUCTS: Final = {
    "involvedObject": "ObjectReference",
    "related": "ObjectReference",
    "source": "EventSource",
}


def _strict_changes(new: Plain, old: Plain) -> Errors:
    errors = _event_errors(new, _NEW_CONTROLLER)
    if new.get("series") != old.get("series"):
        errors += _series_errors(new)
    for field in _FIXED:
        name = _NEW_CONTROLLER if field == _CONTROLLER else field
        if not same(new.get(field), old.get(field)):
            struct = _STRUCTS.get(field)
            value = inner(struct, part(new, field)) if struct else new.get(field)
            errors.append(invalid(name, value, IMMUTABLE))
    return errors


RULES: Final = {
    "events": StrategyHooks(validate_create=_event_errors, validate_update=lambda new, _old: _event_errors(new)),
    "events.k8s.io/events": StrategyHooks(validate_create=_strict_errors, validate_update=_strict_changes),
}
