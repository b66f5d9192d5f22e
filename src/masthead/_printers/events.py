"""Events of the core group and of events.k8s.io, which are the same objects in two shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import integer, part, text
from masthead._printers.ages import age, moment
from masthead._printers.printer import NAME, Column, Printer, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_COLUMNS: Final = (
    Column("Last Seen"),
    Column("Type"),
    Column("Reason"),
    Column("Object"),
    wide("Subobject"),
    wide("Source"),
    Column("Message"),
    wide("First Seen"),
    wide("Count"),
    Column(NAME.name, format=NAME.format, priority=1),
)
_CORE_NAMES: Final[Mapping[str, str]] = {
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
}
"""What fields of events.k8s.io are called in the core group."""


def _event(obj: Plain, now: datetime) -> list[Cell]:
    about = part(obj, "involvedObject")
    kind, name = text(about, "kind").lower(), text(about, "name")
    first, last, count = _occurrences(obj, now)
    return [
        last,
        text(obj, "type"),
        text(obj, "reason"),
        f"{kind}/{name}" if name else kind,
        text(about, "fieldPath"),
        _source(obj),
        text(obj, "message").strip(),
        first,
        count,
        name_of(obj),
    ]


def _occurrences(obj: Plain, now: datetime) -> tuple[str, str, int]:
    """Return when the event occurred first and last, and how often."""
    first_time, last_time = obj.get("firstTimestamp"), obj.get("lastTimestamp")
    first = age(obj.get("eventTime") if moment(first_time) is None else first_time, now)
    if isinstance(obj.get("series"), dict):
        series = part(obj, "series")
        return first, age(series.get("lastObservedTime"), now), integer(series, "count")
    last = first if moment(last_time) is None else age(last_time, now)
    # An event of the new API that occurred once has no count.
    return first, last, integer(obj, "count") or 1


def _source(obj: Plain) -> str:
    source = part(obj, "source")
    component = text(source, "component") or text(obj, "reportingComponent")
    instance = text(source, "host") or text(obj, "reportingInstance")
    return f"{component}, {instance}" if instance else component


def _new_event(obj: Plain, now: datetime) -> list[Cell]:
    # The server hands over what it stores, which has the names of the core group.
    return _event({_CORE_NAMES.get(name, name): value for name, value in obj.items()}, now)


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "Event"): Printer(_COLUMNS, _event),
    ("events.k8s.io", "Event"): Printer(_COLUMNS, _new_event),
}
"""The printers, by group and kind."""
