"""Renewal of credentials: when, and only once for concurrent callers."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead.errors import AuthError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from datetime import datetime

__all__ = ["RenewalLock", "renewal_time", "run_to_completion"]

_LEEWAY: Final = timedelta(seconds=10)
"""How long before its expiry a credential is renewed, so that it does not expire in flight."""


def renewal_time(expires_at: datetime | None, issued_at: datetime) -> datetime | None:
    """Return when to renew a credential; None to wait until the server rejects it.

    That is shortly before its expiry. If it was issued later than that, it is the expiry itself, because the issuer
    would return the same credential again.
    """
    # A token that lives for seconds would be renewed with every call.
    if expires_at is None or expires_at - issued_at <= _LEEWAY:
        return expires_at
    return expires_at - _LEEWAY


async def run_to_completion(work: Coroutine[None, None, None]) -> None:
    """Await a coroutine that must not stop half-way: the first cancellation waits for it, a second cancels it."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.exception()  # mark it as retrieved, or asyncio logs it
        raise
    await task


class RenewalLock:
    """Serializes renewals, and shares the outcome of one with all waiting callers.

    Guarantees: renewals do not overlap. A caller that waited for a renewal gets its outcome, success or failure, and
    does not start another. Failures are not cached: the next call tries again.

    Cancellation: a renewal is cancelled with the caller that started it; the first waiting caller then starts another.
        A
    cancelled waiter does not affect the others.

    Threads: belongs to one event loop.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._finished = 0
        self._failure = ""

    async def run(self, renewal: Callable[[], Awaitable[None]]) -> None:
        """Run a renewal, or wait for the one in progress.

        Raises:
            AuthError: If the renewal raises it.
        """
        before = self._finished
        async with self._lock:
            # Another caller has run it while this one waited for the lock.
            if self._finished != before:
                if self._failure:
                    # Each caller raises its own error: a shared one would collect the tracebacks of all tasks.
                    raise AuthError(self._failure)
                return
            try:
                await renewal()
            except AuthError as error:
                self._failure = str(error)
                self._finished += 1
                raise
            self._failure = ""
            self._finished += 1
