"""The work queue."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeVar

from masthead._module import set_module
from masthead._workqueue.loop_queue import LoopQueue
from masthead.errors import QueueClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

__all__ = ["WorkQueue"]

K = TypeVar("K", bound=Hashable)


@set_module("masthead.aio")
class WorkQueue(LoopQueue[K]):
    """A queue of keys to process: deduplicated, with delays, rate limits and priorities.

    ::

        queue = masthead.aio.WorkQueue[str]()
        queue.add("default/web")
        queue.add("default/web")  # enqueued once
        queue.close()  # ends the loop after the last key; without it, the loop waits for more
        async for key in queue:
            try:
                print("reconciling", key)
            except masthead.MastheadError:
                queue.add_rate_limited(key)
            else:
                queue.forget(key)
            finally:
                queue.done(key)

    No key is handed out to two workers at the same time: a key added during its processing is handed out again after
    `done`, which workers must call for every key from `get`. Ready keys come by priority, the highest first, and in the
    order of their adds. If keys of several priorities are ready, one in `oldest_every` is the key with the longest
    wait, so that none waits forever.

    Threads: `get`, `drain` and iteration belong to one event loop, all other methods to any thread. A cancelled `get`
    takes no key, except through `asyncio.wait_for` of Python 3.11, which may lose the result: use `timeout` or
    `asyncio.timeout`.

    Args:
        name: The name in metrics.
        rate_limiter: The delays of `add_rate_limited`; by default `masthead.workqueue.default_rate_limiter`. A limiter
            belongs to one queue.
        metrics: Receives the metrics of a queue with a name.
        oldest_every: One in so many keys is the oldest; at least 2.

    Raises:
        ArgumentError: If `oldest_every` is less than 2.
    """

    async def get(self, *, timeout: float | None = None) -> K:
        """Wait for the next key. Its processing lasts until `done`.

        Args:
            timeout: Seconds to wait; None for no limit.

        Raises:
            QueueClosedError: If the queue is closed and empty.
            DeadlineError: If no key is ready within the timeout.
        """
        # Without a wait in the usual case, which costs no task switch.
        with self._lock:
            key = self._take()
        return await self._wait(timeout) if key is None else key

    async def __aiter__(self) -> AsyncIterator[K]:
        """Yield keys until the queue is closed and empty. Call `done` for each."""
        while True:
            try:
                key = await self.get()
            except QueueClosedError:
                return
            yield key

    @contextlib.asynccontextmanager
    async def processing(self) -> AsyncGenerator[K]:
        """Wait for the next key, and call `done` at the end of the block.

        Raises:
            QueueClosedError: If the queue is closed and empty.
        """
        key = await self.get()
        try:
            yield key
        finally:
            self.done(key)

    async def drain(self, *, timeout: float | None = None) -> bool:
        """Close the queue, and wait until no key is enqueued or in processing.

        A later `close` ends the wait.

        Args:
            timeout: Seconds to wait; None for no limit.

        Returns:
            Whether all keys are done.
        """
        return await self._drain(timeout)
