"""Events: which belong to an object, in which order they are read, and their rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.plain import part, text
from masthead._printers.ages import moment
from masthead._printers.events import PRINTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import masthead
    from masthead._meta.plain import Plain
    from masthead._meta.unstructured import Unstructured
    from masthead._printers.printer import Column

__all__ = ["EVENT_COLUMNS", "about", "events_of", "last_seen", "newest_last"]

EVENT_COLUMNS: Final[tuple[Column, ...]] = PRINTERS["", "Event"].columns
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_PAGE: Final = 500


def about(kind: str, name: str, namespace: str = "") -> str:
    """The field selector of the events of one object.

    Args:
        kind: Its kind.
        name: Its name.
        namespace: Its namespace; empty for any.
    """
    terms = {
        "involvedObject.kind": kind,
        "involvedObject.name": name,
        "involvedObject.namespace": namespace,
    }
    return ",".join(f"{field}={value}" for field, value in terms.items() if value)


def last_seen(event: Mapping[str, object]) -> datetime:
    """When an event occurred last."""
    found = cast("Plain", event)
    # Recorders fill different fields: series by events.k8s.io, lastTimestamp by the core API, the others as fallbacks.
    for stamp in (
        part(found, "series").get("lastObservedTime"),
        found.get("lastTimestamp"),
        found.get("eventTime"),
        found.get("firstTimestamp"),
        part(found, "metadata").get("creationTimestamp"),
    ):
        if (at := moment(stamp)) is not None:
            return at
    return _NEVER


def newest_last(events: Iterable[Unstructured]) -> list[Unstructured]:
    """Sort events as they occurred."""
    return sorted(events, key=_order)


def _order(event: Unstructured) -> tuple[datetime, int, str]:
    """Most events have times in seconds; within a second, the timestamps in their names give the order."""
    name = event.metadata.name
    return last_seen(event.to_dict()).replace(microsecond=0), _parse_time_in_name(name), name


def _parse_time_in_name(name: str) -> int:
    """The nanoseconds at which a recorder has named an event: ``web.17a3f0c2b1d4e5f6``; 0 if they are not there."""
    try:
        return int(name.rpartition(".")[2], 16)
    except ValueError:
        return 0


def events_of(client: masthead.Client, obj: Plain, *, limit: int) -> list[Plain]:
    """Fetch the last events of an object, newest last.

    Args:
        client: The client.
        obj: The object.
        limit: How many events are wanted at most; of an object with very many, they may not be the very last.

    Raises:
        MastheadError: As any call.
    """
    metadata = part(obj, "metadata")
    namespace = text(metadata, "namespace")
    # Events of an object without a namespace are in some namespace that its controller has chosen.
    resource = client.dynamic("v1", "events", namespace=namespace or None)
    found = resource.list(field_selector=about(text(obj, "kind"), text(metadata, "name"), namespace), limit=_PAGE)
    return [event.to_dict() for event in newest_last(found)[-limit:]]
