"""Plays recorded changes: each becomes a write with its recorded version."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from masthead._meta.typeinfo import decode_json
from masthead_server.replay.merging import merge_change
from masthead_server.request_origin import CURRENT_ORIGIN, RequestOrigin
from masthead_server.resources.go_decoder import Mismatch
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import metadata

if TYPE_CHECKING:
    from masthead._recording.states import ObservedChange
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["Player", "decode_object", "served_for"]

_log: Final = logging.getLogger("masthead.server")
_ORIGIN: Final = RequestOrigin(client="replay")
_SERVICES: Final = "services"


class Player:
    """Writes recorded changes.

    An object without writes of clients gets its recorded state. On any other one, the difference to the recorded state
    before is applied.

    Args:
        cluster: The cluster state.
    """

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._written: dict[tuple[str, str], int] = {}
        """The revision of each object at which it was as recorded."""
        self._left_out: set[tuple[str, str]] = set()
        """The objects whose creation was left out."""
        self._uids: dict[bytes, bytes] = {}
        """The recorded uids of objects that clients have created here, with their uids here."""

    def note(self, table: str, key: str, revision: int) -> None:
        """Note that an object has its recorded state."""
        self._written[table, key] = revision

    def leave_out(self, change: ObservedChange) -> None:
        """Note that a change is not played."""
        served = served_for(self._cluster, change)
        if served is not None:
            place = served.table, served.key(change.namespace, change.name)
            self._written.pop(place, None)
            self._left_out.add(place)

    def play(self, change: ObservedChange, version: int) -> None:
        """Write a change; if the server cannot hold it, log that."""
        served = served_for(self._cluster, change)
        if served is None:
            return
        key = served.key(change.namespace, change.name)
        origin = CURRENT_ORIGIN.set(_ORIGIN)
        try:
            if change.type == "DELETED":
                self._delete(change, served, key, version)
            else:
                self._store(change, served, key, version)
        except (Mismatch, StatusFailure) as error:
            _log.warning("change %d, of %s %s, is not replayed: %s", change.position, served.kind, key, error)
        finally:
            CURRENT_ORIGIN.reset(origin)

    def _store(self, change: ObservedChange, served: ServedResource, key: str, version: int) -> None:
        place = served.table, key
        found = decode_object(served, self._translate_uids(change.json))
        record = self._cluster.storage.table(served.table).get(key)
        if record is not None and record.revision == version:
            # The same write in another version of the kind.
            return
        if record is None:
            # The program under test has not created it, or has deleted it.
            if change.type == "MODIFIED" and (place in self._written or place in self._left_out):
                return
        elif self._written.get(place) != record.revision:
            self._merge(change, served, record, found, version)
            return
        else:
            self._end_life(served, record, found, version)
        self._left_out.discard(place)
        self.note(*place, self._write(served, key, found, version).revision)

    def _end_life(self, served: ServedResource, record: Record, found: Plain, version: int) -> None:
        """Delete an object before another one of its name, if the recording lacks the deletion."""
        last, next_revision = served.load(record), self._cluster.storage.next_revision
        if metadata(last).get("uid") != metadata(found).get("uid") and next_revision < version:
            self._remove(served, record.key, last, next_revision)

    def _merge(
        self, change: ObservedChange, served: ServedResource, record: Record, found: Plain, version: int
    ) -> None:
        """Apply a change to an object that clients have written."""
        current = served.load(record)
        uid, here = (str(metadata(each).get("uid", "")) for each in (found, current))
        if uid and uid != here:
            self._uids[uid.encode()] = here.encode()
        before = change.before
        base: Plain = {} if before is None else decode_object(served, self._translate_uids(before.to_json()))
        for each in (base, found, current):
            metadata(each).pop("resourceVersion", None)
        merged = merge_change(base, found, current)
        if merged != current:
            self._write(served, record.key, merged, version)

    def _delete(self, change: ObservedChange, served: ServedResource, key: str, version: int) -> None:
        place = served.table, key
        record = self._cluster.storage.table(served.table).get(key)
        is_recorded = record is not None and self._written.get(place) == record.revision
        self._written.pop(place, None)
        self._left_out.discard(place)
        if record is None:
            return
        current = served.load(record)
        if is_recorded:
            current = decode_object(served, change.json)
        elif metadata(current).get("finalizers"):
            # Clients have added them, and have to remove them; the last removal deletes the object.
            if not metadata(current).get("deletionTimestamp"):
                current["metadata"] |= {"deletionTimestamp": self._cluster.now(), "deletionGracePeriodSeconds": 0}
                self._write(served, key, current, version)
            return
        self._remove(served, key, current, version)

    def _write(self, served: ServedResource, key: str, found: Plain, version: int) -> Record:
        self._cluster.storage.skip_to(version)
        record = self._cluster.write(served, key, found)
        if served.table == _SERVICES:
            self._cluster.allocations.reserve(found)
        return record

    def _remove(self, served: ServedResource, key: str, last: Plain, version: int) -> None:
        self._cluster.storage.skip_to(version)
        self._cluster.remove(served, key, last)

    def _translate_uids(self, encoded: bytes) -> bytes:
        """Replace uids of recorded objects, such as those of owners, by those of the objects here."""
        for uid, here in self._uids.items():
            encoded = encoded.replace(uid, here)
        return encoded


def served_for(cluster: ClusterState, change: ObservedChange) -> ServedResource | None:
    """Return the resource that stores a change; None if the server does not serve its kind."""
    served = cluster.catalog.by_kind(change.kind.gvk)
    if served is None or not served.is_stored:
        return None
    # No webhook answers here: such objects are stored in the version in which they were recorded.
    return (cluster.catalog.stored_in(served.table) or served) if served.converts_by_webhook else served


def decode_object(served: ServedResource, encoded: bytes) -> Plain:
    """Decode a recorded object, in the shape in which it is stored.

    Raises:
        Mismatch: If a field has another type.
        StatusFailure: If it cannot be converted.
    """
    found, _ = served.codec.decode(decode_json(encoded, dict[str, Any]))
    return served.to_storage(found)
