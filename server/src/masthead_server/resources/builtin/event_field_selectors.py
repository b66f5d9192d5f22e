"""Field selectors of events, whose stored shape both groups of events are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.field_selectors import texts_at
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead_server.resources.field_selectors import FieldReader

__all__ = ["EVENT_READERS", "read_reporter", "read_source", "reference_readers"]

_REFERENCE: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
EVENT_READERS: Final = texts_at("reason", "type")


def reference_readers(owner: str) -> dict[str, FieldReader]:
    """Return readers of the reference to the object of an event.

    Args:
        owner: The name of the reference in the group: ``involvedObject`` or ``regarding``.
    """
    return {f"{owner}.{name}": _reference_reader(name) for name in _REFERENCE}


def _reference_reader(name: str) -> FieldReader:
    return lambda event: text(part(event, "involvedObject") or part(event, "regarding"), name)


def read_reporter(event: Plain) -> str:
    """Return the controller that reports an event."""
    return text(event, "reportingComponent") or text(event, "reportingController")


def read_source(event: Plain) -> str:
    """Return the component that an event comes from."""
    source = part(event, "source") or part(event, "deprecatedSource")
    return text(source, "component") or read_reporter(event)
