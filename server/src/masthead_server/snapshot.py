"""Snapshots: the store of a server at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead_server.authentication.signing_keys import SigningKey
    from masthead_server.change_log import RecordedChange
    from masthead_server.storage import StoredState

__all__ = ["Snapshot", "SnapshotContent", "read_snapshot"]


@set_module("masthead.server")
@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The store of a server at one moment, as `Server.snapshot` returns it.

    `Server.restore` brings it back, and ``run(snapshot=...)`` starts a server with it, both any number of times.

    Attributes:
        revision: The revision at that moment.
        content: The content, for servers alone.
    """

    revision: int
    content: object = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class SnapshotContent:
    """The content of a snapshot.

    Attributes:
        state: The stored records.
        signing_key: The key of service-account tokens; None if none was needed.
        changes: The recorded changes.
    """

    state: StoredState
    signing_key: SigningKey | None
    changes: tuple[RecordedChange, ...]


def read_snapshot(snapshot: Snapshot) -> SnapshotContent:
    """Return the content of a snapshot.

    Raises:
        ArgumentError: If no server has made it.
    """
    content: object = getattr(snapshot, "content", None)
    if not isinstance(content, SnapshotContent):
        raise ArgumentError(f"{snapshot!r} is no snapshot of a server: Server.snapshot() returns one", value=snapshot)
    return content
