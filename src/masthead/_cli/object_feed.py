"""Follows the objects of a resource: the existing ones, and then each change, across lost connections."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Final

from masthead._cli.live_objects import RowChange

if TYPE_CHECKING:
    from typing import Self

    import masthead
    from masthead._cli.fetching import ObjectSelection
    from masthead._meta.unstructured import Unstructured

__all__ = ["Feed"]

_START_TIMEOUT: Final = 60.0


class Feed:
    """Follows a resource; to be used in ``with``.

    Args:
        resource: The resource.
        selection: The selectors.
    """

    def __init__(self, resource: masthead.clientset.DynamicResource, selection: ObjectSelection) -> None:
        self._resource = resource
        self._selection = selection
        self._changes: queue.SimpleQueue[RowChange] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        """List the objects, and follow from there.

        Raises:
            MastheadError: As any call.
        """
        from masthead._sync.informer import SharedInformer

        labels, fields = self._selection.labels, self._selection.fields
        # An informer would retry for ever; a list fails with the reason.
        self.first: list[Unstructured] = list(self._resource.list(label_selector=labels, field_selector=fields))
        self._known = {(obj.key, obj.metadata.resource_version) for obj in self.first}
        self._informer = SharedInformer(self._resource, label_selector=labels, field_selector=fields)
        self._informer.add_event_handler(
            on_add=lambda obj: self._changes.put(RowChange("added", obj)),
            on_update=lambda _, obj: self._changes.put(RowChange("changed", obj)),
            on_delete=lambda obj: self._changes.put(RowChange("deleted", obj)),
        )
        self._informer.start()
        self._informer.wait_for_cache_sync(timeout=_START_TIMEOUT)
        return self

    def __exit__(self, *exc: object) -> None:
        self._informer.stop()

    @property
    def health(self) -> masthead.cache.InformerHealth:
        """How the informer is doing."""
        return self._informer.health

    def next(self, timeout: float) -> Unstructured | None:
        """Wait for the next new or changed object; return None after the timeout, or for a deletion."""
        change = self.next_change(timeout)
        return None if change is None or change.type == "deleted" else change.obj

    def next_change(self, timeout: float) -> RowChange | None:
        """Wait for the next change, deletions included; return None after the timeout."""
        try:
            while True:
                change = self._changes.get(timeout=timeout)
                mark = change.obj.key, change.obj.metadata.resource_version
                # The informer's first list announces the objects of the list before it.
                if change.type != "added" or mark not in self._known:
                    return change
                self._known.discard(mark)
        except queue.Empty:
            return None
