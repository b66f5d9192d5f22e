"""When to renew, and how: one at a time, and whoever waited shares what came of it."""

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
"""How long before its end a credential is replaced, so that it does not end on its way to the server."""


def renewal_time(expires_at: datetime | None, issued_at: datetime) -> datetime | None:
    """When to replace a credential; None for not before the server refuses it.

    That is a little before its end. If it was issued later than that, it is the end itself: whoever issued it would
    give the same one again.
    """
    if expires_at is None or expires_at - issued_at <= _LEEWAY:
        return expires_at
    return expires_at - _LEEWAY


async def run_to_completion(work: Coroutine[None, None, None]) -> None:
    """Do something that must not stop half-way: the first cancellation waits until it is done, a second does not."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.exception()  # nobody is left to hear of it, and asyncio would complain
        raise
    await task


class RenewalLock:
    """Keeps a costly renewal from being done twice at once.

    Guarantees: no two renewals overlap. Whoever asks while one is under way gets its outcome, success or failure, and
    starts no other. A failure is not remembered beyond that: the next to ask tries again.

    Cancellation: a renewal belongs to the caller that began it, and is cancelled with that caller; then the first of
    those that wait begins anew. A cancelled waiter disturbs nobody.

    Threads: belongs to one event loop.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._finished = 0
        self._failure = ""

    async def run(self, renewal: Callable[[], Awaitable[None]]) -> None:
        """Run a renewal, or wait for the one that is under way.

        Raises:
            AuthError: If the renewal raised it.
        """
        before = self._finished
        async with self._lock:
            if self._finished != before:
                if self._failure:
                    # An error of each caller's own: raised in many tasks, one would collect all their tracebacks.
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
