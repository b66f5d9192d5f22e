"""The interface of controllers: they observe writes, and reconcile the affected objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

__all__ = ["ObservedWrite", "ServerController"]


class ObservedWrite(NamedTuple):
    """A write to an object, which may be its deletion."""

    served: ServedResource
    ref: ObjectRef
    record: Record


class ServerController(Protocol):
    """Brings objects to the state that their spec and metadata call for.

    Everything runs in the server's own thread. The `ControllerManager` calls `observe` for each write, and
    `reconcile` for each object that `observe` returned: once, however often it was returned in the meantime.
    """

    @property
    def observes(self) -> frozenset[str] | None:
        """The tables whose writes it observes; None for all of them."""
        ...

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Observe a write; return the objects to reconcile because of it."""
        ...

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Do what an object needs next. Only a write that an admission webhook decides about has to wait.

        Returns:
            The seconds after which to reconcile the object again: 0 for after the other objects that are due, None for
            not before the next write.

        Raises:
            JournalError: A change could not be stored. The object is reconciled again later.
        """
        ...
