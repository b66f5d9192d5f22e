"""Events of events.k8s.io: validation and conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._schema.errors import invalid, required
from masthead_server.resources.behavior import Behavior, Conversion, StrategyHooks
from masthead_server.resources.builtin.core.event import CONTROLLER, event_errors
from masthead_server.resources.validation.checks import IMMUTABLE, same
from masthead_server.resources.validation.internal_types import inner
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        # One event is no series.
        if (series.get("count") or 0) < 2:
            # The message shows no value, as kube-apiserver passes an empty one.
            errors.append(invalid("series.count", "", "should be at least 2"))
        if not series.get("lastObservedTime"):
            errors.append(required("series.lastObservedTime"))
    return errors


def strict_errors(event: Plain) -> Errors:
    """Return the errors of a new Event."""
    # Validation sees the stored form, that of the core group; only the controller's field has its new name.
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
    # Series are the only part that a reporter updates.
    if new.get("series") != old.get("series"):
        errors += _series_errors(new)
    for field in _FIXED:
        # Messages name most fields as the stored object does, not as the client's version.
        name = _NEW_CONTROLLER if field == CONTROLLER else field
        if not same(new.get(field), old.get(field)):
            struct = _STRUCTS.get(field)
            value = inner(struct, part(new, field)) if struct else new.get(field)
            errors.append(invalid(name, value, IMMUTABLE))
    return errors


_OMIT: Final = object()


class _Field(NamedTuple):
    """One field under both of its names, and its zero value."""

    core: str
    events: str
    empty_in_core: object = _OMIT
    empty_in_events: object = _OMIT


_EMPTY_OBJECT: Final[Plain] = {}

_FIELDS: Final = (
    _Field("involvedObject", "regarding", _EMPTY_OBJECT, _EMPTY_OBJECT),
    _Field("reason", "reason"),
    _Field("message", "note"),
    _Field("source", "deprecatedSource", _EMPTY_OBJECT, _EMPTY_OBJECT),
    _Field("firstTimestamp", "deprecatedFirstTimestamp", None, None),
    _Field("lastTimestamp", "deprecatedLastTimestamp", None, None),
    _Field("count", "deprecatedCount"),
    _Field("type", "type"),
    _Field("eventTime", "eventTime", None, None),
    _Field("series", "series"),
    _Field("action", "action"),
    _Field("related", "related"),
    _Field("reportingComponent", "reportingController", ""),
    _Field("reportingInstance", "reportingInstance", ""),
)


def to_core(event: Plain) -> Plain:
    """Write an event of ``events.k8s.io`` in the words of the core group."""
    return _rename(event, ((field.events, field.core, field.empty_in_core) for field in _FIELDS))


def from_core(event: Plain) -> Plain:
    """Write an event of the core group in the words of ``events.k8s.io``."""
    return _rename(event, ((field.core, field.events, field.empty_in_events) for field in _FIELDS))


def _rename(event: Plain, names: Iterable[tuple[str, str, object]]) -> Plain:
    made: Plain = {name: event[name] for name in ("kind", "apiVersion", "metadata") if name in event}
    for old, new, empty in names:
        value = event.get(old)
        # Go's zero values; empty structs and null times are written by the table.
        # An empty count, reason or action is omitted in both groups.
        if value not in (None, "", 0):
            made[new] = value
        elif empty is not _OMIT:
            made[new] = {} if empty is _EMPTY_OBJECT else empty
    return made


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=strict_errors, validate_update=strict_changes),
    conversions={"v1": Conversion(to_core, from_core)},
)
