"""Validation of events of events.k8s.io, which is stricter than that of the core group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources.builtin.core.event.validation import CONTROLLER, event_errors
from masthead_server.resources.validation.checks import IMMUTABLE, same
from masthead_server.resources.validation.internal_types import inner
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_NEW_CONTROLLER: Final = "reportingController"
"""What the new group calls it."""
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


def strict_errors(event: Plain) -> Errors:
    """Return the errors of a new Event."""
    errors = event_errors(event, _NEW_CONTROLLER) + _series_errors(event)
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    if event.get("type") not in {"Normal", "Warning"}:
        errors.append(invalid("type", "", f"has invalid value: {text(event, 'type')}"))
    return errors + [invalid(old_field, "", "needs to be unset") for old_field in _OLD_FIELDS if event.get(old_field)]


_FIXED: Final = (
    "involvedObject",
    "reason",
    "message",
    *_OLD_FIELDS,
    "type",
    "eventTime",
    "action",
    "related",
    CONTROLLER,
    "reportingInstance",
)
"""What an event of the new group keeps."""
_STRUCTS: Final = {
    "involvedObject": "ObjectReference",
    "related": "ObjectReference",
    "source": "EventSource",
}


def strict_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of an Event."""
    errors = event_errors(new, _NEW_CONTROLLER)
    if new.get("series") != old.get("series"):
        errors += _series_errors(new)
    for field in _FIXED:
        name = _NEW_CONTROLLER if field == CONTROLLER else field
        if not same(new.get(field), old.get(field)):
            struct = _STRUCTS.get(field)
            value = inner(struct, part(new, field)) if struct else new.get(field)
            errors.append(invalid(name, value, IMMUTABLE))
    return errors
