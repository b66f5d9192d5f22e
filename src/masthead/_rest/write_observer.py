"""Observes the successful writes of a context: how a controller knows which changes are its own.

The observer is a context variable: it is inherited by the tasks that a reconcile starts, and by the calls that its own
thread makes through the blocking façade, whichever client they use. Other threads do not inherit context variables: the
blocking context of a reconcile, and its client, set the observer for the calls that are made through them.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from masthead._rest.call import Call
    from masthead._rest.client import RestClient
    from masthead._rest.response import Response

__all__ = ["WriteObserver", "write_observer"]


class WriteObserver(Protocol):
    """Is called with each write that the server has accepted; it must not raise."""

    def __call__(self, rest: RestClient, call: Call, response: Response) -> None:
        """Note a write."""
        ...


write_observer: Final[ContextVar[WriteObserver | None]] = ContextVar("masthead.write_observer", default=None)
