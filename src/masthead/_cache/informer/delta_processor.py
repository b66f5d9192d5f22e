"""Applies changes to a store, and works out the notifications for the handlers.

::

    changes ──> DeltaProcessor ──put, remove, replace──> store
                   └─────> notifications, for the handlers

The store is updated first: a handler that is notified of an object finds it there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._meta.object import Object
from masthead._sansio.buffer import Notification, NotificationType
from masthead._sansio.changes import Delta, DeltaType
from masthead._sansio.slices import in_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._sansio.changes import Bookmark, ReplacedAll
    from masthead._sansio.store import IndexedStore, Replacement

__all__ = ["DeltaProcessor"]

T = TypeVar("T", bound=Object)

_QUICK_SLICE: Final = 2000
"""How many objects are looked at before others get their turn, where each takes less than a microsecond."""
_ADD, _UPDATE, _DELETE = NotificationType.ADD, NotificationType.UPDATE, NotificationType.DELETE


class DeltaProcessor(Generic[T]):
    """Keeps a store up to date.

    Args:
        store: What to keep.
        storage: How its objects are stored.
        scopes: What is listed each by itself.
        on_left: Called with key and value of an object that a change of its own removes from the store.
    """

    def __init__(
        self,
        store: IndexedStore[Stored, T],
        storage: ObjectStorage[T],
        scopes: Collection[str] = ("",),
        on_left: Callable[[str, Stored], object] | None = None,
    ) -> None:
        self._store = store
        self._on_left = on_left
        self._version = storage.version
        self._is_same = storage.is_same
        self._by_namespace = any(scopes)

    def apply(
        self, change: Delta[Stored] | Bookmark, *, is_initial: bool
    ) -> tuple[Sequence[Notification[Stored]], Sequence[Notification[Stored]]]:
        """Apply one change of one object, or of none.

        Returns:
            The notifications for every handler; and those for the handlers that are due for a resync.
        """
        if isinstance(change, Delta):
            if change.type is DeltaType.DELETED:
                return self._deleted(change), ()
            if change.type is DeltaType.SYNC:
                return (), self._resync_notifications(change.key)
            return self._changed(change, is_initial=is_initial), ()
        self._store.set_version(change.version, scope=change.scope)
        return (), ()

    def scope_of(self, key: str) -> str:
        """Where a key was listed."""
        return key.partition("/")[0] if self._by_namespace else ""

    def _changed(self, delta: Delta[Stored], *, is_initial: bool) -> Sequence[Notification[Stored]]:
        key, new = delta.key, delta.value
        old = self._store.put(key, new, version=delta.version, scope=self.scope_of(key))
        if old is None:
            return (Notification(_ADD, key, None, new, is_initial),)
        if self._on_left is not None:
            self._on_left(key, old)
        if delta.type is DeltaType.UPDATED and delta.version != self._version(old):
            return (Notification(_UPDATE, key, old, new),)  # the server says that it is the same object
        return tuple(self._difference(key, old, new))

    def _difference(self, key: str, old: Stored, new: Stored) -> Iterator[Notification[Stored]]:
        """Notifications for a key present before and after a relist."""
        # The version alone proves nothing: a server that has lost its data counts from the beginning again.
        if self._is_same(old, new):
            version = self._version(new)
            # Without versions, it may have changed.
            if not version or version != self._version(old):
                yield Notification(_UPDATE, key, old, new)
            return
        # Another object of the same name.
        # differs from client-go: there, it passes for the same object, changed.
        yield Notification(_DELETE, key, old, None, final_state_known=False)
        yield Notification(_ADD, key, None, new)

    def _deleted(self, delta: Delta[Stored]) -> Sequence[Notification[Stored]]:
        old = self._store.remove(delta.key, version=delta.version, scope=self.scope_of(delta.key))
        if old is None:
            # Never delivered as added, so no delete is delivered.
            # differs from client-go: there, it is.
            return ()
        if self._on_left is not None:
            self._on_left(delta.key, old)
        last = delta.value if delta.value is not None else old
        return (Notification(_DELETE, delta.key, last, None, final_state_known=delta.final_state_known),)

    def _resync_notifications(self, key: str) -> Sequence[Notification[Stored]]:
        stored = self._store.get(key)
        return () if stored is None else (Notification(_UPDATE, key, stored, stored),)

    def replace(
        self, change: ReplacedAll[Stored], *, is_initial: bool
    ) -> Generator[None, None, tuple[Replacement[Stored, T], list[Notification[Stored]]]]:
        """Prepare to put a whole state in place of another; stops after each slice.

        Returns:
            The replacement to commit, with the list's version; and the notifications for every handler then: deletes first, then
            updates and adds.
        """
        before, items = self._store.items_of(change.scope), change.items
        deletes: list[Notification[Stored]] = []
        others: list[Notification[Stored]] = []
        for old_part in in_slices(before.items(), _QUICK_SLICE):
            deletes += [
                Notification(_DELETE, key, old, None, final_state_known=False)
                for key, old in old_part
                if key not in items and key not in change.kept
            ]
            yield
        for part in in_slices(items.items()):
            for key, new in part:
                old = before.get(key)
                if old is None:
                    others.append(Notification(_ADD, key, None, new, is_initial))
                    continue
                changes = list(self._difference(key, old, new))
                if not changes:
                    # What was read of it need not be read again. In place, so that the new one is freed now: freeing
                    # all of them at once takes as long as a slice may not.
                    items[key] = old
                for each in changes:
                    (deletes if each.type is _DELETE else others).append(each)
            yield
        after = items
        if change.kept:
            after = {key: before[key] for key in change.kept if key in before} | items
        replacement = yield from self._store.prepare(after, scope=change.scope)
        return replacement, deletes + others
