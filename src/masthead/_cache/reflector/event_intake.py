"""Turns the objects of lists and the events of watches into a new state, or into changes of the current one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.reflector.ingest import UndecodableError, key_in
from masthead._cache.reflector.state_builder import StateBuilder
from masthead._meta.object import Object
from masthead._sansio.changes import Bookmark, Delta, DeltaType
from masthead._sansio.listwatch_steps import Phase, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from masthead._cache.reflector.ingest import Ingest
    from masthead._cache.reflector.interrupt import Interrupt
    from masthead._cache.reflector.server_identity import KnownObjects
    from masthead._cache.reflector.undecodable import UndecodableObjects
    from masthead._cache.store.storage import Stored
    from masthead._client.watch_event import WatchEvent, WatchEventType
    from masthead._sansio.changes import Change
    from masthead._sansio.listwatch import ListWatchMachine
    from masthead.errors import DecodeError

__all__ = ["EventIntake"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_DELTA_TYPES: Final = {
    "ADDED": DeltaType.ADDED,
    "MODIFIED": DeltaType.UPDATED,
    "DELETED": DeltaType.DELETED,
}


class EventIntake(Generic[T]):
    """Collects objects and events of one source.

    Args:
        machine: Decides whether an event belongs to a new state or changes the current one.
        ingest: Selects, transforms and packs objects.
        undecodable: Records objects that cannot be stored.
        known: The store, if there is one.
        interrupt: Set while the selected shards change.
        scope: The source's name in the changes.
        label: The source's name in logs.
        records_versions: Whether to record the resource versions of a new state, for a comparison with a list.

    Attributes:
        state: The new state, as far as it has arrived.
        changes: The changes that are not emitted yet.
        clock: The event loop's clock.
    """

    def __init__(
        self,
        machine: ListWatchMachine,
        ingest: Ingest[T],
        undecodable: UndecodableObjects,
        known: KnownObjects | None,
        interrupt: Interrupt,
        *,
        scope: str,
        label: str,
        records_versions: bool,
    ) -> None:
        self.state = StateBuilder()
        self.changes: list[Change[Stored]] = []
        self.clock: Callable[[], float] = _no_clock
        self._machine = machine
        self._ingest = ingest
        self._undecodable = undecodable
        self._status = undecodable.status
        self._known = known
        self._interrupt = interrupt
        self._scope = scope
        self._label = label
        self._records_versions = records_versions

    def restart(self) -> None:
        """Void the new state, and begin another."""
        self.state = StateBuilder(began=self.clock())

    def take_state(self) -> StateBuilder:
        """Return the new state, which is complete."""
        state, self.state = self.state, StateBuilder()
        return state

    def take(self, batch: Iterator[WatchEvent[T]]) -> str | None:
        """Process events up to the end of a new state; return its version.

        The completing event has not been reported to the machine yet.
        """
        machine = self._machine
        for event in batch:
            kind = event.type
            if kind == "BROKEN":
                # One object that cannot be decoded must not stop the stream.
                self._take_broken(event)
                continue
            obj = event.object
            version = obj.metadata.resource_version
            if machine.phase is Phase.STREAMING and version and event.ends_initial_events:
                # The caller tells the machine once the store has the state; until then, it is not complete.
                return version
            if machine.event(kind, version) is Role.CHANGE:
                self._change(kind, obj, version)
            elif kind == "DELETED":
                # The object was among the initial events, and was deleted before they ended.
                self.state.drop(obj.key)
            elif kind != "BOOKMARK":
                self.collect(obj)
        return None

    def collect(self, obj: T) -> None:
        """Add an object to the new state."""
        if not self._ingest.selects(obj):
            self._note_other_shard()
            return
        if self._records_versions:
            self.state.versions[obj.key] = obj.metadata.resource_version
        try:
            key, stored = self._ingest.take(obj)
        except UndecodableError as error:
            self.state.broken[error.key] = str(error)
        else:
            self.state.items[key] = stored
            # An earlier event of this object may not have been decodable.
            self.state.broken.pop(key, None)

    def collect_broken(self, error: DecodeError) -> None:
        """Add an undecodable list item to the new state."""
        key = key_in(error.value) if isinstance(error.value, bytes) else ""
        self.state.broken[key or error.subject] = str(error)

    def _change(self, kind: WatchEventType, obj: T, version: str) -> None:
        if kind == "BOOKMARK":
            self._bookmark(version)
            return
        if not self._ingest.selects(obj):
            self._skip_other_shard(obj, version)
            return
        self._status.event = self.clock()
        try:
            key, stored = self._ingest.take(obj)
        except UndecodableError as error:
            self._skip_undecodable(kind, error.key, version, str(error))
            return
        if self._status.broken:
            # An earlier version may have been undecodable; this one is not.
            self._undecodable.discard(key)
        self.changes.append(Delta(_DELTA_TYPES[kind], key, stored, version))

    def _take_broken(self, event: WatchEvent[T]) -> None:
        """Process an event with an undecodable object."""
        key, version = key_in(event.data), event.version
        role = self._machine.event(event.server_type or "MODIFIED", version)
        if role is Role.CHANGE:
            self._skip_undecodable(event.server_type, key, version, str(event.error))
        elif event.server_type == "DELETED":
            self.state.drop(key)
        else:
            self.state.broken[key] = str(event.error)

    def _skip_undecodable(self, kind: WatchEventType | None, key: str, version: str, problem: str) -> None:
        """Leave the stored object unchanged, unless it was deleted."""
        if kind == "DELETED" and key:
            self._undecodable.discard(key)
            # A deletion needs no more than the key, so it is valid even if the object is not.
            self.changes.append(Delta(DeltaType.DELETED, key, None, version, final_state_known=False))
            return
        self._undecodable.add(key, problem)
        self._bookmark(version)

    def _skip_other_shard(self, obj: T, version: str) -> None:
        """Drop a change of an object whose shard is not selected."""
        self._note_other_shard()
        if self._known is not None and self._known.has(obj.key) and self._ingest.shards is not None:
            # The shard depends on the uid: the stored object of this name was deleted, and the event for it missed.
            self.changes.append(Delta(DeltaType.DELETED, obj.key, None, version, final_state_known=False))
        else:
            self._bookmark(version)

    def _note_other_shard(self) -> None:
        # Objects that were sent for an earlier selection are expected.
        if self._interrupt.is_set:
            return
        if not self._status.other_shards:
            _log.info(
                "%s: the server sends objects of other shards, which are dropped here; it may not have the feature "
                "gate ShardedListAndWatch",
                self._label,
            )
        self._status.other_shards += 1

    def _bookmark(self, version: str) -> None:
        """Advance the store to a version, unless the machine has refused it as older."""
        if version and version == self._machine.version:
            self.changes.append(Bookmark(version, self._scope))


def _no_clock() -> float:
    return 0.0
