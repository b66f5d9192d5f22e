"""Observes the reconciles of a manager: the causes, the start and the end of each, for recordings of a run.

The observer is a context variable, inherited by the tasks of a manager that starts in its context.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from masthead._controller.flight import Flight
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._controller.predicates import ChangeEvent
    from masthead._controller.requests import Request
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import Object

__all__ = ["ReconcileObserver", "reconcile_observer"]


class ReconcileObserver(Protocol):
    """Is called with the events behind reconciles, and at the start and the end of each; it must not raise."""

    def note_event(
        self, controller: str, request: Request, reason: str, resource: GroupVersionResource, event: ChangeEvent
    ) -> None:
        """Note an event that may lead to the reconcile of a request, with the reason that the reconcile will have."""
        ...

    def begin(self, controller: str, flight: Flight, obj: Object | None) -> None:
        """Note the start of a reconcile, with the cached object; None if it was deleted."""
        ...

    def end(self, controller: str, flight: Flight, outcome: ReconcileOutcome) -> None:
        """Note the end of a reconcile; a cancelled one has no end."""
        ...

    def cancel(self, controller: str, flight: Flight) -> None:
        """Note that a reconcile was cancelled."""
        ...


reconcile_observer: Final[ContextVar[ReconcileObserver | None]] = ContextVar(
    "masthead.reconcile_observer", default=None
)
