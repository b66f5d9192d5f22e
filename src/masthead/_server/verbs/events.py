"""What a watch tells: the lines of its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from masthead._meta import typeinfo

if TYPE_CHECKING:
    from masthead._server.resources.resource import ServedResource
    from masthead._server.storage import Record
    from masthead._server.verbs.selection import SelectionPredicate
    from masthead._server.wire.failures import StatusFailure
    from masthead._server.wire.plain import Plain

__all__ = [
    "INITIAL_EVENTS_END",
    "MetadataOnly",
    "WholeObjects",
    "Representation",
    "error_line",
    "event_of",
    "line",
]

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that follows the last object of a watch-list."""


class Representation(Protocol):
    """Writes objects in the form that a client asked for."""

    def stored(self, value: bytes) -> bytes:
        """Write a stored object."""
        ...

    def bookmark(self, metadata: Plain) -> bytes:
        """Write an object that has nothing but some metadata."""
        ...


class WholeObjects:
    """Writes objects whole."""

    def __init__(self, served: ServedResource) -> None:
        self._served = served

    def stored(self, value: bytes) -> bytes:
        """Write a stored object."""
        return self._served.write(value)

    def bookmark(self, metadata: Plain) -> bytes:
        """Write an object that has nothing but some metadata."""
        return self._served.blank(metadata)


class _OnlyMetadata(msgspec.Struct):
    metadata: msgspec.Raw


_read_metadata = typeinfo.json_decoder(_OnlyMetadata).decode


class MetadataOnly:
    """Writes nothing of an object but its metadata.

    Args:
        version: Of meta.k8s.io, ``v1`` or ``v1beta1``.
    """

    def __init__(self, version: str) -> None:
        self._head = (
            f'{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/{version}","metadata":'.encode()
        )

    def stored(self, value: bytes) -> bytes:
        """Write a stored object."""
        return b"%b%b}" % (self._head, bytes(_read_metadata(b"{" + value).metadata))

    def bookmark(self, metadata: Plain) -> bytes:
        """Write an object that has nothing but some metadata."""
        return b"%b%b}" % (self._head, msgspec.json.encode(metadata))


def line(kind: bytes, body: bytes) -> bytes:
    """Write one event."""
    return b'{"type":"%b","object":%b}\n' % (kind, body)


def error_line(failure: StatusFailure) -> bytes:
    """Write the event that ends a watch which went wrong."""
    return line(b"ERROR", msgspec.json.encode(failure.status()))


def event_of(record: Record, selection: SelectionPredicate, writer: Representation) -> bytes | None:
    """Write what a record means to those who watch a selection; None if it means nothing to them.

    An object that begins to match is added; one that no longer does is deleted, and is shown as it last matched,
    with the version of the write that took it away.
    """
    before = record.before
    was_in = before is not None and selection.matches(before)
    if record.is_deleted:
        return line(b"DELETED", writer.stored(record.value)) if was_in else None
    if selection.matches(record):
        return line(b"MODIFIED" if was_in else b"ADDED", writer.stored(record.value))
    if was_in and before is not None:
        return line(b"DELETED", writer.stored(_as_of(selection.served, before, record.revision)))
    return None


def _as_of(served: ServedResource, record: Record, revision: int) -> bytes:
    found = served.load(record)
    found["metadata"]["resourceVersion"] = str(revision)
    return served.dump(found)
