"""The open watches of a server that faults hold back: how far they are, and their release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.fault import Effect
from masthead_server.verbs.held_view import HeldView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.faults import Faults
    from masthead_server.storage import Storage
    from masthead_server.verbs.watch import Watcher
    from masthead_server.wire.options import CollectionOptions
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["HeldWatches"]


class HeldWatches:
    """Follows the open watches that faults hold back.

    Args:
        faults: The faults.
        storage: The stored objects.
        watchers: The open watches, and their requests.
    """

    def __init__(self, faults: Faults, storage: Storage, watchers: Mapping[Watcher, RequestInfo]) -> None:
        self._faults = faults
        self._storage = storage
        self._watchers = watchers

    def find_shown_revision(self, info: RequestInfo, options: CollectionOptions) -> int:
        """Return the revision that a client's watch shows: an older one if faults hold events back."""
        newest = self._storage.revision
        view = HeldView(self._faults, info)
        if not view.is_held:
            return newest
        # The last one first: a client that has opened a watch again uses that one.
        for watch, watched in reversed(tuple(self._watchers.items())):
            if not watch.ended.is_set() and _is_alike(watched, info) and watch.has_selectors(options):
                return newest if watch.held_at is None else watch.cursor
        return newest if view.frozen_at is None else view.frozen_at

    def find_oldest_revision(self) -> int | None:
        """Return the oldest revision that a fault shows, or from which a watch has yet to send events."""
        held = [watch.cursor for watch in self._watchers if watch.held_at is not None]
        frozen = [fault.revision for fault in self._faults.holding if fault.effect is Effect.FREEZE]
        return min([*held, *(revision for revision in frozen if revision is not None)], default=None)

    def release(self) -> None:
        """Let watches send what no fault holds back any more."""
        for watch, info in tuple(self._watchers.items()):
            watch.release()
            if not self._faults.has_pending(info, Effect.HOLD_BOOKMARKS):
                watch.release_bookmarks()


def _is_alike(watched: RequestInfo, info: RequestInfo) -> bool:
    place = (info.client, info.group, info.resource, info.namespace)
    return (watched.client, watched.group, watched.resource, watched.namespace) == place
