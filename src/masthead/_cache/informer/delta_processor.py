"""Applies changes to a store, and computes the notifications for the handlers.

::

    changes ──> DeltaProcessor ──put, remove, replace──> store
                   └─────> notifications, for the handlers

The store is updated first, so that a handler finds an object that it is notified of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._meta.object import Object
from masthead._sansio.changes import Delta, DeltaType
from masthead._sansio.handler_buffer import Notification, NotificationType
from masthead._sansio.slices import in_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Sequence

    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._sansio.changes import Bookmark, ReplacedAll
    from masthead._sansio.store import IndexedStore, Replacement

__all__ = ["DeltaProcessor"]

T = TypeVar("T", bound=Object)

_QUICK_SLICE: Final = 2000
"""Objects compared before other tasks run, at less than a microsecond per object."""
_ADD, _UPDATE, _DELETE = NotificationType.ADD, NotificationType.UPDATE, NotificationType.DELETE


class DeltaProcessor(Generic[T]):
    """Keeps a store up to date.

    Args:
        store: The store.
        storage: Reads versions and uids of stored objects.
        scopes: The namespaces with a watch of their own; one empty name for a single watch.
        on_left: Called with the key and value of each object that a single change replaces or deletes.
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
        """Apply a change of one object, or a bookmark.

        Returns:
            The notifications for all handlers, and the notifications for handlers that are due for a resync.
        """
        if isinstance(change, Delta):
            if change.type is DeltaType.DELETED:
                return self._apply_delete(change), ()
            if change.type is DeltaType.SYNC:
                return (), self._resync_notifications(change.key)
            return self._apply_update(change, is_initial=is_initial), ()
        self._store.set_version(change.version, scope=change.scope)
        return (), ()

    def scope_of(self, key: str) -> str:
        """The scope of a key."""
        return key.partition("/")[0] if self._by_namespace else ""

    def _apply_update(self, delta: Delta[Stored], *, is_initial: bool) -> Sequence[Notification[Stored]]:
        key, new = delta.key, delta.value
        old = self._store.put(key, new, version=delta.version, scope=self.scope_of(key))
        if old is None:
            return (Notification(_ADD, key, None, new, is_initial),)
        if self._on_left is not None:
            self._on_left(key, old)
        if delta.type is DeltaType.UPDATED and delta.version != self._version(old):
            # A MODIFIED event is always about the same object, so the uids need not be compared.
            return (Notification(_UPDATE, key, old, new),)
        return tuple(self._compare(key, old, new))

    def _compare(self, key: str, old: Stored, new: Stored) -> Iterator[Notification[Stored]]:
        """Yield notifications for a key that is present before and after."""
        # By uid: a server that has lost its data counts versions from the beginning again.
        if self._is_same(old, new):
            version = self._version(new)
            # Without versions, the object may have changed.
            if not version or version != self._version(old):
                yield Notification(_UPDATE, key, old, new)
            return
        # Another object with the same name.
        # differs from client-go: there, it counts as an update of the same object.
        yield Notification(_DELETE, key, old, None, final_state_known=False)
        yield Notification(_ADD, key, None, new)

    def _apply_delete(self, delta: Delta[Stored]) -> Sequence[Notification[Stored]]:
        old = self._store.remove(delta.key, version=delta.version, scope=self.scope_of(delta.key))
        if old is None:
            # The add was never delivered, so the delete is not, either.
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
        """Prepare the replacement of the whole state, in slices.

        Returns:
            The replacement to commit with the list's version, and the notifications to push after the commit: deletes,
            then updates and adds.
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
                changes = list(self._compare(key, old, new))
                if not changes:
                    # The decoded sections of the old object are kept. In place, so that the new object is freed now:
                    # freeing all of them in one step takes longer than a slice may.
                    items[key] = old
                for notification in changes:
                    (deletes if notification.type is _DELETE else others).append(notification)
            yield
        after = items
        if change.kept:
            after = {key: before[key] for key in change.kept if key in before} | items
        replacement = yield from self._store.prepare(after, scope=change.scope)
        return replacement, deletes + others
