"""Occurrences: recorded facts about objects, before they become Events."""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypeAlias

import msgspec

__all__ = ["EventReference", "Key", "Occurrence", "truncate"]

Key: TypeAlias = "tuple[object, ...]"
"""A key of a cache: a tuple of distinguishing values."""

_MAX_NOTE_BYTES: Final = 1024
_ELLIPSIS: Final = "…"


def truncate(note: str, limit: int = _MAX_NOTE_BYTES) -> str:
    """Cut a message to the server's limit in bytes of UTF-8, and end it with an ellipsis."""
    # A character has at most four bytes, so that most messages need not be encoded.
    if len(note) * 4 <= limit:
        return note
    data = note.encode()
    if len(data) <= limit:
        return note
    return data[: limit - len(_ELLIPSIS.encode())].decode(errors="ignore") + _ELLIPSIS


class EventReference(msgspec.Struct, frozen=True):
    """A reference to an object.

    Attributes:
        api_version: Its apiVersion.
        kind: Its kind.
        namespace: Its namespace; empty for a cluster-scoped object.
        name: Its name.
        uid: Its uid.
        resource_version: Its resource version; not part of its identity.
        field_path: The part of it that is meant, such as ``spec.containers{web}``; empty for the whole.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    field_path: str = ""

    @property
    def identity(self) -> Key:
        """The identity of the object."""
        return (self.uid, self.kind, self.namespace, self.name, self.api_version)


class Occurrence(msgspec.Struct, frozen=True):
    """One call of ``record``.

    Attributes:
        regarding: The object.
        type: ``Normal`` or ``Warning``.
        reason: Why, in CamelCase.
        note: The message.
        action: The action of the controller.
        at: The time, by the wall clock.
        related: A second object.
    """

    regarding: EventReference
    type: str
    reason: str
    note: str
    action: str
    at: datetime
    related: EventReference | None = None

    @property
    def similarity(self) -> Key:
        """The common fields of similar occurrences: everything but the message."""
        related = self.related
        return (
            *self.regarding.identity,
            self.regarding.field_path,
            self.type,
            self.reason,
            self.action,
            None if related is None else (*related.identity, related.field_path),
        )
