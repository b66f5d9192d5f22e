"""Blocking iteration over async iterators.

::

    a task on the loop ──> buffer, up to a limit ──all of it at once──> the iterating thread
           ^                                                                    │
           └──── resumes, if it paused at the limit ──── asks, when it is empty ┘

One task runs the whole iteration, because a timeout inside an async generator belongs to the task that started it. The
thread and the loop synchronise once for many items, not for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from masthead._sync.facade import Facade
from masthead._sync.portal import wait_until_free
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Self

    from masthead._sync.portal import Portal, Spawn

__all__ = ["Items", "StreamFacade"]

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)

_LIMIT: Final = 256
_SHARED: Final = "two threads iterate over one stream; let one of them read, and hand on what it reads"
_GIVEN_UP: Final = "the stream has ended: its client is closed; make a new one"


class Items(Generic[Item]):
    """A blocking iterator over an async iterator.

    Iteration starts with the first `next`. An iterator is closed when it is collected, as after an early ``break``.

    Threads: one may iterate; any may close.
    """

    def __init__(
        self,
        portal: Portal,
        source: AsyncIterator[Item],
        *,
        limit: int = _LIMIT,
        close: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Iterate over a source.

        Args:
            portal: The portal of the source's event loop.
            source: The async iterator.
            limit: The number of buffered items at which the source pauses.
            close: Closes the source; its ``aclose`` by default.
        """
        self._portal = portal
        self._turn = threading.Lock()
        self._is_closed = False
        self._batch: deque[Item] = deque()
        ends: Callable[[], Awaitable[object]] = close or getattr(source, "aclose", None) or _nothing
        self._pump = _Pump(source, limit, ends)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        if not self._turn.acquire(blocking=False):
            raise RuntimeError(_SHARED)
        try:
            if self._is_closed:
                raise StopIteration
            if not self._batch:
                self._batch = self._pump.take(self._portal)
            return self._batch.popleft()
        finally:
            self._turn.release()

    def close(self) -> None:
        """End the iteration, and wait until its source is closed. Closing twice does nothing.

        Raises:
            RuntimeError: If it is called on the loop's own thread.
        """
        self._is_closed = True
        with contextlib.suppress(ClosedError):  # a closed portal has closed its streams
            self._portal.call(self._pump.stop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._pump.is_running:
            self._portal.soon(self._pump.abandon)


class AsyncStream(Protocol[Item_co]):
    """An object of the async façade that is an iterator itself."""

    def __aiter__(self) -> AsyncIterator[Item_co]: ...
    async def __anext__(self) -> Item_co: ...
    async def __aenter__(self) -> object: ...
    async def close(self) -> None:
        """End the stream, and wait until its connection is released."""
        ...


class StreamFacade(Facade[AsyncStream[Item]], Generic[Item]):
    """Iterates over an object of the async façade that is an iterator itself."""

    def __init__(self, portal: Portal, inner: AsyncStream[Item]) -> None:
        super().__init__(portal, inner)
        self._items: Items[Item] = Items(portal, inner, close=inner.close)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        return next(self._items)

    def __enter__(self) -> Self:
        self._portal.call(self._async.__aenter__())
        return self

    def __exit__(self, *exc: object) -> None:
        self._items.close()


class _Pump(Generic[Item]):
    """The state that thread and task share. It does not reference the iterator, which can thus be collected."""

    def __init__(self, source: AsyncIterator[Item], limit: int, close: Callable[[], Awaitable[object]]) -> None:
        self._source = source
        self._limit = limit
        self._close = close
        # Guards every change of the four attributes below.
        self._lock = threading.Lock()
        self._items: deque[Item] = deque()
        self._waiting: threading.Lock | None = None
        self._is_paused = False
        self._is_over = False
        # Used by the iterating thread only:
        self._is_begun = False
        # Used on the loop only:
        self._error: BaseException | None = None
        self._is_stopped = False
        self._space: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._is_begun and not self._is_over

    def take(self, portal: Portal) -> deque[Item]:
        """Take all buffered items; waits for at least one.

        Raises:
            StopIteration: If there are no more.
            BaseException: Whatever the source or the portal raises.
        """
        portal.check()
        with self._lock:
            # A new lock for every wait: an interrupted wait must not wake the next one.
            waiting = None if self._items or self._is_over else threading.Lock()
            if waiting is not None:
                waiting.acquire()
            self._waiting, is_paused = waiting, self._is_paused
        if waiting is not None:
            if not self._is_begun:
                portal.start(self._begin)
                self._is_begun = True
            elif is_paused:
                portal.soon(self._go_on)
            wait_until_free(waiting)
        with self._lock:
            items, self._items = self._items, deque()
        if items:
            return items
        error, self._error = self._error, None
        try:
            raise error or StopIteration
        finally:
            del error  # breaks the cycle of frame and traceback

    def _begin(self, spawn: Spawn) -> None:
        if not self._is_stopped:
            self._task = spawn(self._run())
            # Not in the coroutine: a task that is cancelled before its first step never enters it.
            self._task.add_done_callback(lambda _: self._end())

    def _go_on(self) -> None:
        with self._lock:
            self._is_paused = False
        if self._space is not None and not self._space.done():
            self._space.set_result(None)

    async def _run(self) -> None:
        try:
            try:
                async for item in self._source:
                    if self._put(item):
                        self._space = asyncio.get_running_loop().create_future()
                        await self._space
            finally:
                await self._close()
        # All errors are raised in the iterating thread.
        except BaseException as error:  # noqa: BLE001
            self._error = error

    def _put(self, item: Item) -> bool:
        """Buffer an item; returns whether the limit is reached."""
        with self._lock:
            self._items.append(item)
            self._is_paused = len(self._items) >= self._limit
            waiting, self._waiting = self._waiting, None
            if waiting is not None:
                waiting.release()
            return self._is_paused

    def _end(self) -> None:
        if self._is_stopped:
            self._error = None
        elif isinstance(self._error, asyncio.CancelledError) or (self._task and self._task.cancelled()):
            self._error = ClosedError(_GIVEN_UP)
        with self._lock:
            self._is_over = True
            if self._is_stopped:
                self._items.clear()
            if self._waiting is not None:
                self._waiting.release()
                self._waiting = None

    async def stop(self) -> None:
        """Cancel the task, and wait for its end."""
        self.abandon()
        if self._task is not None:
            await asyncio.wait([self._task])
        elif not self._is_over:
            self._end()
            await self._close()

    def abandon(self) -> None:
        """Cancel the task without waiting."""
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()


async def _nothing() -> None:
    """Close a source that has nothing to close."""
