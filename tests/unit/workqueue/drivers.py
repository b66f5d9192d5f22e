"""Both work queues behind one interface, whose calls may come from any thread; what waits returns a future."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import masthead
import masthead.aio

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._workqueue.base import WorkQueueBase

T = TypeVar("T")
Key = Hashable


class Driver(Protocol):
    """A queue, and how to wait for it."""

    @property
    def queue(self) -> WorkQueueBase[Any]: ...

    def get(self, timeout: float | None = None) -> Future[Any]: ...

    def drain(self, timeout: float | None = None) -> Future[bool]: ...

    def iter(self, work: Callable[[Any], object]) -> Future[None]:
        """Call a function with each key, then be done with it, until the queue is closed and empty."""
        ...

    def close(self) -> None: ...


class ThreadsDriver:
    """The blocking queue: a thread for each wait."""

    def __init__(self, **options: Any) -> None:
        self.queue = self._queue = masthead.WorkQueue[Any](**options)
        self._threads: list[threading.Thread] = []

    def get(self, timeout: float | None = None) -> Future[Any]:
        return self._start(lambda: self._queue.get(timeout=timeout))

    def drain(self, timeout: float | None = None) -> Future[bool]:
        return self._start(lambda: self._queue.drain(timeout=timeout))

    def iter(self, work: Callable[[Any], object]) -> Future[None]:
        return self._start(lambda: self._iterate(work))

    def _iterate(self, work: Callable[[Any], object]) -> None:
        for key in self._queue:
            work(key)
            self._queue.done(key)

    def _start(self, call: Callable[[], T]) -> Future[T]:
        future = Future[T]()

        def run() -> None:
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001 - the future has it
                future.set_exception(error)

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()
        return future

    def close(self) -> None:
        self.queue.close()
        for thread in self._threads:
            thread.join(10)


class LoopDriver:
    """The async queue: its loop runs in a thread."""

    def __init__(self, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

        async def make() -> masthead.aio.WorkQueue[Any]:
            return masthead.aio.WorkQueue[Any](**options)

        self.queue = self._queue = self._run(make()).result(10)

    def get(self, timeout: float | None = None) -> Future[Any]:
        return self._run(self._queue.get(timeout=timeout))

    def drain(self, timeout: float | None = None) -> Future[bool]:
        return self._run(self._queue.drain(timeout=timeout))

    def iter(self, work: Callable[[Any], object]) -> Future[None]:
        return self._run(self._iterate(work))

    async def _iterate(self, work: Callable[[Any], object]) -> None:
        async for key in self._queue:
            work(key)
            await asyncio.sleep(0)
            self._queue.done(key)

    def _run(self, coroutine: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        self.queue.close()
        self._run(self._end()).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


DRIVERS: dict[str, Callable[..., Driver]] = {"threads": ThreadsDriver, "loop": LoopDriver}
