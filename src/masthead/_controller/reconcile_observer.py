"""Observes the reconciles of a manager: the start and the end of each, for recordings of a run.

The observer is a context variable, inherited by the tasks of a manager that starts in its context.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from masthead._controller.flight import Flight
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._meta.object import Object

__all__ = ["ReconcileObserver", "reconcile_observer"]


class ReconcileObserver(Protocol):
    """Is called at the start and the end of each reconcile; it must not raise."""

    def begin(self, controller: str, flight: Flight, obj: Object | None) -> None:
        """Note the start of a reconcile, with the cached object; None if it was deleted."""
        ...

    def end(self, controller: str, flight: Flight, outcome: ReconcileOutcome) -> None:
        """Note the end of a reconcile; a cancelled one has no end."""
        ...


reconcile_observer: Final[ContextVar[ReconcileObserver | None]] = ContextVar(
    "masthead.reconcile_observer", default=None
)
