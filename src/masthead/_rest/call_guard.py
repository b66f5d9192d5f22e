"""Refuses the calls of work that must not act any more, such as a reconcile of a leader whose term is over.

A coroutine may ignore its cancellation, and a thread cannot be cancelled. Both are harmless to the cluster once their
calls are refused. The guard is a context variable, as `masthead._rest.write_observer` is: tasks inherit it from the
work that starts them, and so do the calls that a reconciler's thread makes through the blocking façade, whichever
client they use.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from masthead._rest.call import Subject

__all__ = ["CallGuard", "admit_call", "call_guard", "explain_closed"]

_UNGUARDED: Final = nullcontext()
_LOOK_EVERY: Final = 0.05
_STOPPED: Final = "not sent, because the manager has stopped this work, or lost its lease; end when you are cancelled"


class CallGuard:
    """Admits calls until it is revoked, or the lease behind it is over.

    Args:
        may_call: Whether the lease is held, by this process' own clock.

    Attributes:
        in_flight: How many admitted calls have not ended.
    """

    def __init__(self, may_call: Callable[[], bool]) -> None:
        self._may_call = may_call
        self._is_revoked = False
        self.in_flight = 0

    def revoke(self) -> None:
        """Refuse all further calls."""
        self._is_revoked = True

    @property
    def refuses(self) -> bool:
        """Whether calls are refused now."""
        return self._is_revoked or not self._may_call()

    async def wait_for_idle(self, timeout: float) -> bool:
        """Wait for calls in flight to end; returns whether all ended in time."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        # By looking again and again: calls may end on the loops of other clients.
        while self.in_flight > 0 and clock() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)
        return self.in_flight <= 0

    @contextmanager
    def admit(self, subject: Subject) -> Generator[None]:
        """Count a call while it is in flight.

        Raises:
            ClosedError: If it is refused.
        """
        if self.refuses:
            raise ClosedError(f"{subject}: {_STOPPED}")
        # Counted before the request is sent, so that `wait_for_idle` cannot miss it.
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1


call_guard: Final[ContextVar[CallGuard | None]] = ContextVar("masthead.call_guard", default=None)


def admit_call(subject: Subject) -> AbstractContextManager[None]:
    """Ask the guard of the current context, if there is one, to admit a call.

    Raises:
        ClosedError: When entered, if the guard refuses the call.
    """
    guard = call_guard.get()
    return _UNGUARDED if guard is None else guard.admit(subject)


def explain_closed() -> str:
    """Explain why a closed client cannot be used: a manager closed it, if the context's guard refuses calls."""
    guard = call_guard.get()
    return "the client is closed; make a new one" if guard is None or not guard.refuses else _STOPPED
