"""Events of the core group and of ``events.k8s.io``: the same objects under two vocabularies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.wire.plain import Plain

_OMIT: Final = object()


class _Field(NamedTuple):
    """One field under both of its names, and what stands there where it is empty."""

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
    return _renamed(event, ((field.events, field.core, field.empty_in_core) for field in _FIELDS))


def from_core(event: Plain) -> Plain:
    """Write an event of the core group in the words of ``events.k8s.io``."""
    return _renamed(event, ((field.core, field.events, field.empty_in_events) for field in _FIELDS))


def _renamed(event: Plain, names: Iterable[tuple[str, str, object]]) -> Plain:
    made: Plain = {name: event[name] for name in ("kind", "apiVersion", "metadata") if name in event}
    for old, new, empty in names:
        value = event.get(old)
        if value not in (None, "", 0):
            made[new] = value
        elif empty is not _OMIT:
            made[new] = {} if empty is _EMPTY_OBJECT else empty
    return made
