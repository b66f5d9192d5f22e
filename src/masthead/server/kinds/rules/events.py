"""Events: they must be where the object is that they tell of, and new ones must be complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.server.failures import invalid, required
from masthead.server.kinds import names
from masthead.server.kinds.rules.base import KindRules
from masthead.server.kinds.rules.checks import follows, immutable
from masthead.server.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead.server.kinds.rules.base import Errors
    from masthead.server.plain import Plain


def _event_errors(event: Plain, controller: str = "reportingComponent") -> Errors:
    """Check that an event is where the object is that it tells of."""
    namespace = text(metadata(event), "namespace")
    about = text(part(event, "involvedObject") or part(event, "regarding"), "namespace")
    cluster = {"default"} if not event.get("eventTime") else {"default", "kube-system"}
    apart = (
        namespace not in {"", *cluster} if not about else not event.get("eventTime") and about != namespace
    )
    errors: Errors = []
    if apart:
        errors.append(invalid("involvedObject.namespace", about, "does not match event.namespace"))
    return errors + (_new_event_errors(event, controller) if event.get("eventTime") else [])


def _new_event_errors(event: Plain, controller: str) -> Errors:
    errors: Errors = [] if event.get(controller) else [required(controller)]
    errors += follows(controller, text(event, controller), names.qualified_name)
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            errors.append(required(field))
        elif len(text(event, field)) > 128:
            errors.append(invalid(field, "", "can have at most 128 characters"))
    message = text(event, "message") or text(event, "note")
    if len(message) > 1024:
        errors.append(invalid("message", "", "can have at most 1024 characters"))
    return errors


_OLD_FIELDS: Final = {
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}
"""What events of the new group may not have, and what messages call it."""


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
    errors = _event_errors(event, "reportingController") + _series_errors(event)
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    if event.get("type") not in {"Normal", "Warning"}:
        errors.append(invalid("type", "", f"has invalid value: {text(event, 'type')}"))
    unwanted = [name for field, name in _OLD_FIELDS.items() if event.get(field)]
    return errors + [invalid(name, "", "needs to be unset") for name in unwanted]


_FIXED: Final = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    **_OLD_FIELDS,
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}
"""What an event of the new group keeps, and what messages call it."""


def _strict_changes(new: Plain, old: Plain) -> Errors:
    errors = _event_errors(new, "reportingController")
    if new.get("series") != old.get("series"):
        errors += _series_errors(new)
    for field, name in _FIXED.items():
        errors += immutable(name, new.get(field), old.get(field))
    return errors


RULES: Final = {
    "events": KindRules(validate_create=_event_errors, validate_update=lambda new, _old: _event_errors(new)),
    "events.k8s.io/events": KindRules(validate_create=_strict_errors, validate_update=_strict_changes),
}
