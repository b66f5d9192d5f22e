"""The processor: applies changes to the store, and notifies every handler.

A lock, the gate, is held while a change is applied and handed out, and while a handler joins. So a new handler receives
all objects of the store, and every change after them. Readers do not take the gate.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, cast

from masthead._cache.informer.delta_processor import DeltaProcessor
from masthead._cache.reflector.server_identity import Sample
from masthead._meta.object import Object
from masthead._sansio.changes import ReplacedAll, Reselected, SyncAll
from masthead._sansio.handler_buffer import Notification, NotificationType
from masthead._sansio.slices import in_slices
from masthead._sansio.store import IndexedStore
from masthead._sansio.versions import magnitude

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

    from masthead._cache.informer.mutation_detector import MutationDetector
    from masthead._cache.informer.processor_listener import ProcessorListener
    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._sansio.changes import Bookmark, Change, Delta
    from masthead._sansio.sharding import ShardRanges
    from masthead._sansio.store_indices import IndexFunc

__all__ = ["SharedProcessor", "StoreObserver"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")
_SAMPLES: Final = 3
_MAX_RECENT: Final = 16
"""Recently changed keys that are remembered as candidates for samples."""
_PUSH_SLICE: Final = 1000
"""Notifications pushed before other tasks run."""
_HASH_SLICE: Final = 1000
"""Objects hashed before other tasks run."""
_SPREAD: Final = 32
"""Other objects, spread over the store, that are candidates for samples."""


class StoreObserver(Protocol):
    """Is called with every change of a store, in order and under the gate; it must be quick, and must not raise."""

    def changed(self, changes: Sequence[Change[Stored]], notifications: Sequence[Notification[Stored]]) -> None:
        """Note changes of single objects, which may have caused no notification."""
        ...

    def replaced(self, scope: str, since: str, version: str, notifications: Sequence[Notification[Stored]]) -> None:
        """Note a full list of a scope.

        Args:
            scope: The scope.
            since: The version that the scope had reached before; empty for the first list.
            version: The version of the list.
            notifications: What differs. The sequence is the observer's.
        """
        ...

    def reselected(self) -> None:
        """Note that objects of other shards have left the store, though they exist."""
        ...


class SharedProcessor(Generic[T]):
    """Applies changes to the store, and notifies the handlers.

    Args:
        storage: Packs and unpacks objects.
        indexers: The built-in index functions.
        scopes: The namespaces with a watch of their own; one empty name for a single watch.
        name: The informer's name in logs.
        detector: Compares the objects that leave the store; None for no comparison.

    Attributes:
        store: The store.
        gate: Held while the store or the handlers change.
        is_synced: Whether the first full list is in the store.
        due: The handlers that receive the next resync.
        observer: Observes every change, for recordings.
    """

    def __init__(
        self,
        storage: ObjectStorage[T],
        indexers: Mapping[str, IndexFunc[T]],
        scopes: Collection[str],
        *,
        name: str,
        detector: MutationDetector[T] | None = None,
    ) -> None:
        self._storage = storage
        self._name = name
        self._detector = detector
        self._broken_indexers: set[str] = set()
        self._recent: deque[str] = deque(maxlen=_MAX_RECENT)
        self._listeners: dict[Hashable, ProcessorListener[T]] = {}
        self.store: IndexedStore[Stored, T] = IndexedStore(
            indexers, opened=storage.unpack, on_index_error=self._log_index_error, scopes=scopes
        )
        on_left = None if detector is None else detector.compare
        self._delta_processor = DeltaProcessor(self.store, storage, scopes, on_left)
        if detector is not None:
            detector.attach(self.store.items)
        self.gate = threading.RLock()
        self.is_synced = False
        self.due: frozenset[Hashable] = frozenset()
        self.observer: StoreObserver | None = None

    def process(self, changes: Sequence[Change[Stored]], is_initial: bool) -> Iterator[None] | None:
        """Apply changes, and notify every handler.

        Returns:
            None when done; or the steps of a change of many objects. Other tasks may run between the steps, but the
            next changes must wait for the last one. Readers see the new state in one step.
        """
        first = changes[0]
        if isinstance(first, ReplacedAll):
            return self._replace(first, is_initial)
        if isinstance(first, SyncAll):
            return self._resync()
        if isinstance(first, Reselected):
            return self._deselect(first.shards, first.scope)
        notifications: list[Notification[Stored]] = []
        pushed = 0
        with self.gate:
            for change in changes:
                added, resyncs = self._delta_processor.apply(
                    cast("Delta[Stored] | Bookmark", change), is_initial=is_initial
                )
                notifications += added
                if resyncs:
                    # Pushed in order: after a resync overtaken by an update, a handler would have the older object.
                    self._push(notifications[pushed:])
                    pushed = len(notifications)
                    for handler in self.due & self._listeners.keys():
                        self._listeners[handler].push(resyncs)
            if self.observer is not None:
                self.observer.changed(changes, notifications)
            self._push(notifications[pushed:] if pushed else notifications)
        return None

    def _push(self, notifications: Sequence[Notification[Stored]]) -> None:
        if notifications:
            self._recent.extend([notification.key for notification in notifications[-_MAX_RECENT:]])
            for listener in self._listeners.values():
                listener.push(notifications)

    def _replace(self, change: ReplacedAll[Stored], is_initial: bool) -> Iterator[None]:
        replacement, notifications = yield from self._delta_processor.replace(change, is_initial=is_initial)
        with self.gate:
            since = self.store.version_of(change.scope)
            self.store.commit(replacement, change.version)
            if self.observer is not None:
                # A copy: the notifications are freed below, slice by slice.
                self.observer.replaced(change.scope, since, change.version, notifications.copy())
            self._recent.extend([notification.key for notification in notifications[-_MAX_RECENT:]])
            # A handler that joins from here on starts with the new state.
            listeners = list(self._listeners.values())
        notifications.reverse()
        while notifications:  # from the end, so that pushed notifications are freed with each slice
            part = notifications[: -_PUSH_SLICE - 1 : -1]
            del notifications[-_PUSH_SLICE:]
            for listener in listeners:
                listener.push(part)
            if self._detector is not None:
                self._compare_old(self._detector, part)
            yield

    def _deselect(self, shards: ShardRanges, scope: str) -> Iterator[None]:
        """Remove the objects of other shards. They still exist, so no handler is notified."""
        uid = self._storage.uid
        for part in in_slices(self.stored(scope).items(), _HASH_SLICE):
            with self.gate:
                for key, stored in part:
                    if not shards.selects_metadata(uid(stored), key.rpartition("/")[0]):
                        self.store.remove(key, scope=scope)
                        if self._detector is not None:
                            self._detector.compare(key, stored)
            yield
        if self.observer is not None:
            with self.gate:
                self.observer.reselected()

    def _resync(self) -> Iterator[None]:
        with self.gate:
            items = self.store.copy_items()
            listeners = [self._listeners[handler] for handler in self.due & self._listeners.keys()]
        # In slices: pushing a large store in one step would block the event loop.
        for part in in_slices(items.items(), _PUSH_SLICE):
            notifications = [Notification(NotificationType.UPDATE, key, stored, stored) for key, stored in part]
            for listener in listeners:
                listener.push(notifications)
            yield

    def mark_synced(self) -> None:
        """Note that all handlers have been notified of the first full list."""
        with self.gate:
            self.is_synced = True
            for listener in self._listeners.values():
                listener.push(_SYNC_MARKER)

    def add_listener(self, handler: Hashable, listener: ProcessorListener[T]) -> None:
        """Add a handler, which receives every object of the store, and then every change."""
        with self.gate:
            # Under the gate, so that the handler sees neither a gap nor a duplicate.
            listener.begin_with(self.store.copy_items())
            if self.is_synced:
                listener.push(_SYNC_MARKER)
            self._listeners[handler] = listener

    def add_listener_before_start(self, handler: Hashable, listener: ProcessorListener[T]) -> None:
        """Add a handler before the start, which receives every change.

        Objects of a snapshot are not delivered, only the changes since then.
        """
        with self.gate:
            self._listeners[handler] = listener

    def remove_listener(self, handler: Hashable) -> None:
        """Remove a handler."""
        with self.gate:
            listener = self._listeners.pop(handler, None)
            self.due -= {handler}
        if listener is not None:
            listener.close()

    def listeners(self) -> Sequence[ProcessorListener[T]]:
        """The listeners of all handlers."""
        return list(self._listeners.values())

    def objects(self) -> Iterator[tuple[str, T]]:
        """All objects of the store, with their keys."""
        opened = self._storage.unpack
        return ((key, opened(stored)) for key, stored in self.store.items())

    def scope_of(self, key: str) -> str:
        """The scope of a key."""
        return self._delta_processor.scope_of(key)

    def stored(self, scope: str) -> dict[str, Stored]:
        """The stored objects of a scope, by key."""
        return self.store.items_of(scope)

    def samples(self, scope: str) -> Sequence[Sample]:
        """A few objects of a scope, the newest first.

        Old objects are the same on a server that was restored from a backup, so that they prove nothing.
        """
        stored = self.stored(scope)
        spread = itertools.islice(stored, 0, None, max(1, len(stored) // _SPREAD))
        keys = dict.fromkeys([*(key for key in list(self._recent) if key in stored), *spread])
        version, uid = self._storage.version, self._storage.uid
        samples = [Sample(key, uid(stored[key]), version(stored[key])) for key in keys]
        samples.sort(key=lambda sample: magnitude(sample.version), reverse=True)
        return samples[:_SAMPLES]

    def has(self, key: str) -> bool:
        """Whether the store has an object."""
        return key in self.store

    def _log_index_error(self, index: str, key: str, error: Exception) -> None:
        # A warning once per index: a broken function fails on every object.
        level = logging.DEBUG if index in self._broken_indexers else logging.WARNING
        self._broken_indexers.add(index)
        _log.log(
            level,
            "%s: the indexer %r failed on %r, which is not in that index: %r",
            self._name,
            index,
            key,
            error,
        )

    def _compare_old(self, detector: MutationDetector[T], notifications: Sequence[Notification[Stored]]) -> None:
        """Compare the objects that a relist has replaced or deleted with their bytes."""
        for notification in notifications:
            if notification.old is not None:
                detector.compare(notification.key, notification.old)


_SYNC_MARKER: Final[tuple[Notification[Stored]]] = (Notification(NotificationType.SYNC_MARKER),)
