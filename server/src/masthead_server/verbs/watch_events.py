"""Watch events: what a write means to a watch, and the lines of its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from masthead_server.storage import Record
    from masthead_server.verbs.representation import Representation
    from masthead_server.verbs.selection import SelectionPredicate
    from masthead_server.wire.failures import StatusFailure

__all__ = ["INITIAL_EVENTS_END", "error_line", "event_line", "event_of"]

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events of a watch-list."""


def event_line(kind: bytes, body: bytes) -> bytes:
    """Write the line of one event."""
    return b'{"type":"%b","object":%b}\n' % (kind, body)


def error_line(failure: StatusFailure) -> bytes:
    """Write the error event that ends a watch."""
    return event_line(b"ERROR", msgspec.json.encode(failure.status()))


def event_of(record: Record, selection: SelectionPredicate, representation: Representation) -> bytes | None:
    """Write the event of a record for a watch of a selection; None if the record does not concern it.

    An object that begins to match is ``ADDED``. An object that ceases to match is ``DELETED``: the event has its last
    matching state, with the version of the write.
    """
    before = record.before
    was_in = before is not None and selection.matches(before)
    if record.is_deleted:
        return representation.event(b"DELETED", record.value) if was_in else None
    if selection.matches(record):
        return representation.event(b"MODIFIED" if was_in else b"ADDED", record.value)
    if was_in and before is not None:
        last = selection.served.codec.with_version(before.value, str(record.revision))
        return representation.event(b"DELETED", last)
    return None
