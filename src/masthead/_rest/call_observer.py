"""Observes all calls and cache reads of a context: what a reconcile has asked and told the server, for recordings.

A context variable, inherited as `masthead._rest.write_observer` is.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionResource
    from masthead._rest.call import Call
    from masthead._rest.response import Response

__all__ = ["CallObserver", "call_observer"]


class CallObserver(Protocol):
    """Is called with each call and each read of a cache, from any thread; it must not raise."""

    def called(self, call: Call, response: Response | None, error: Exception | None, seconds: float) -> None:
        """Note a call with its response or its error, and its duration."""
        ...

    def read(self, verb: str, resource: GroupVersionResource, namespace: str | None, name: str) -> None:
        """Note a read of a cache."""
        ...


call_observer: Final[ContextVar[CallObserver | None]] = ContextVar("masthead.call_observer", default=None)
