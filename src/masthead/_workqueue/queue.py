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
        queue.add("default/web")  # is enqueued once
        queue.close()  # the loop ends when nothing is left; without it, it waits for more
        async for key in queue:
            try:
                print("reconciling", key)
            except masthead.MastheadError:
                queue.add_rate_limited(key)
            else:
                queue.forget(key)
            finally:
                queue.done(key)

    A key is never handed out to two workers at once: one that is added while it is processed is handed out again after
    `done`, which must be called for each key that `get` returned. Of the keys that are ready, those of the highest
    priority come first, in the order in which they were added. While several priorities are ready, one in `oldest_every`
    keys is the one that has waited longest, so that none waits forever.

    Threads: `get`, `drain` and iteration belong to one event loop, all other methods to any thread. A cancelled `get` takes
    no key, except through `asyncio.wait_for` of Python 3.11, which may lose the result: use `timeout` or `asyncio.timeout`.

    Args:
        name: What metrics call it.
        rate_limiter: The delays of `add_rate_limited`; by default `masthead.workqueue.default_rate_limiter`. A limiter
            belongs to one queue.
        metrics: Where to count, if the queue has a name.
        oldest_every: How often the oldest key comes first; at least 2.

    Raises:
        ArgumentError: If `oldest_every` is less than 2.
    """

    async def get(self, *, timeout: float | None = None) -> K:
        """Wait for the next key. It is being processed from then on, until `done`.

        Args:
            timeout: How many seconds to wait; None for as long as it takes.

        Raises:
            QueueClosedError: If the queue is closed, and nothing is left to hand out.
            DeadlineError: If no key came within `timeout`.
        """
        with self._lock:
            key = self._take()
        return await self._wait(timeout) if key is None else key

    async def __aiter__(self) -> AsyncIterator[K]:
        """The keys as they come, until the queue is closed and empty. `done` must be called for each."""
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
            QueueClosedError: If the queue is closed, and nothing is left to hand out.
        """
        key = await self.get()
        try:
            yield key
        finally:
            self.done(key)

    async def drain(self, *, timeout: float | None = None) -> bool:
        """Close the queue, and wait until no key is left: neither enqueued nor being processed.

        A later `close` ends the wait.

        Args:
            timeout: How many seconds to wait; None for as long as it takes.

        Returns:
            Whether all keys are done.
        """
        return await self._drain(timeout)
