"""The lifetime of a client: its close ends the waits of its calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["ClientLifetime"]

_CLOSED: Final = "the client was closed while a call waited for its credentials; make a new one"

T = TypeVar("T")


class ClientLifetime:
    """Waits of calls that end when their client closes.

    Attributes:
        is_closed: Whether the client is closed.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._closing = asyncio.Event()
        self._waits: set[asyncio.Task[object]] = set()

    async def pause(self, seconds: float) -> None:
        """Sleep, as before a retry.

        Raises:
            ClosedError: If the client closes during the wait.
        """
        # Not a plain sleep: close() has to end it.
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return
        raise ClosedError("the client was closed while a call waited to be sent; make a new one")

    async def run(self, work: Coroutine[object, None, T]) -> T:
        """Wait for a coroutine; cancel it if the client closes during the wait.

        Raises:
            ClosedError: If the client is closed.
        """
        if self.is_closed:
            work.close()
            raise ClosedError(_CLOSED)
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self._waits.add(task)
        try:
            return await work
        except asyncio.CancelledError:
            # `close` has cancelled the task once. Any cancellation left after taking that back is the caller's.
            if not self._closing.is_set() or task.uncancel():
                raise
        finally:
            self._waits.discard(task)
        raise ClosedError(_CLOSED)

    def close(self) -> None:
        """End all waits."""
        self.is_closed = True
        self._closing.set()
        for task in self._waits:
            task.cancel()
