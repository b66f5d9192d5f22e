"""Writes that a controller failed to observe."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.controllers.base import ObservedWrite, ServerController
    from masthead_server.controllers.objects import ObjectRef

__all__ = ["MissedWrites"]


class MissedWrites:
    """Reconciles the writes that a controller failed to observe, so that the queue retries them.

    Args:
        controller: The controller.
        observe: Lets it observe a write, and adds the due objects to the queue.
    """

    def __init__(
        self, controller: ServerController, observe: Callable[[ServerController, ObservedWrite], None]
    ) -> None:
        self.observes: frozenset[str] | None = frozenset()
        self._controller = controller
        self._observe = observe
        self._writes: dict[ObjectRef, ObservedWrite] = {}

    def add(self, write: ObservedWrite) -> None:
        """Remember a write; the last one of an object counts."""
        self._writes[write.ref] = write

    def discard(self, ref: ObjectRef) -> None:
        """Forget a write of an object, because the controller has observed a later one."""
        self._writes.pop(ref, None)

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:  # noqa: ARG002 - the interface of controllers
        """Observe nothing."""
        return ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Let the controller observe the missed write of an object.

        Raises:
            Exception: The controller failed again.
        """
        write = self._writes.get(ref)
        if write is not None:
            self._observe(self._controller, write)
            self.discard(ref)
