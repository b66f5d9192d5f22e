"""Dispatches notifications to handlers, to each at its own speed.

::

    informer ──push──> HandlerBuffer ──take──> one task, or one thread, calls the handler
                       (bounded: see `masthead._sansio.buffer`)

A slow handler delays no other: pushing never waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import sys
import threading
import types
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from masthead._meta.object import Object
from masthead._sansio.buffer import HandlerBuffer, Notification, NotificationType

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from masthead._cache.informer.handlers import EventHandler
    from masthead._cache.informer.mutation_detector import MutationDetector
    from masthead._cache.reflector.metrics import HandlerMetrics
    from masthead._cache.store.storage import ObjectStorage, Stored

__all__ = ["HandlerDispatcher", "ProcessorListener", "TaskDispatcher", "ThreadDispatcher"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_AT_ONCE: Final = 100
"""How many notifications are taken out of a buffer at a time. Those cannot be folded any more."""
_TURN: Final = 1000
"""How many notifications are dispatched before others get their turn: several times what a watch brings in one of its turns, or a
handler that is quick enough would fall behind a busy one."""
_BLOCKED_AFTER: Final = 1.0
"""Seconds for which a handler may keep the event loop from everything else before it is named in the log."""
_QUIET_WAIT: Final = 1.0
"""Seconds for which an end is waited for in silence; and, of a task, for what it does once it is cancelled."""


class ProcessorListener(Generic[T]):
    """A handler, and the notifications that wait for it.

    Threads: one dispatches; any may push.
    """

    def __init__(
        self,
        handler: EventHandler[T],
        storage: ObjectStorage[T],
        *,
        name: str,
        limit: int,
        metrics: HandlerMetrics | None = None,
        detector: MutationDetector[T] | None = None,
    ) -> None:
        self.name = name
        self.is_synced = False
        self._is_closed = False
        self.on_push: Callable[[], object] = _nothing
        self.on_synced: Callable[[], object] = _nothing
        self._handler = handler
        self._open = storage.unpack
        self._lock = threading.Lock()
        self._buffer: HandlerBuffer[Stored] = HandlerBuffer(limit)
        self._in_hand = 0
        self._metrics = metrics
        self._detector = detector
        self.failures = 0

    @property
    def pending(self) -> int:
        """How many notifications wait for it; 0 once it is removed, or the informer stopped."""
        return 0 if self._is_closed else len(self._buffer) + self._in_hand

    def push(self, notifications: Sequence[Notification[Stored]]) -> None:
        """Enqueue notifications for the handler; return at once."""
        with self._lock:
            if self._is_closed:
                return
            self._buffer.extend(notifications)
            self._measure()
        # Outside the lock, which the dispatcher takes as soon as it wakes up.
        self.on_push()

    def begin_with(self, items: dict[str, Stored]) -> None:
        """Dispatch a state to the handler before anything else; return at once.

        Args:
            items: The objects by key; from here on, the listener's own.
        """
        with self._lock:
            self._buffer.begin_with(items)
            self._measure()
        self.on_push()

    def _measure(self) -> None:
        if self._metrics is not None:
            self._metrics.pending(self.pending)

    def is_closed(self) -> bool:
        """Whether nothing more is dispatched."""
        return self._is_closed

    def close(self) -> None:
        """Drop what waits, and take nothing more."""
        with self._lock:
            self._is_closed = True
            self._buffer.clear()
            self._measure()
        self.on_push()

    def take(self) -> list[Notification[Stored]]:
        """Take the next notifications; empty if there are none."""
        with self._lock:
            taken = self._buffer.take(_AT_ONCE)
            self._in_hand = len(taken)
            self._measure()
        return taken

    def dispatch(self, notification: Notification[Stored]) -> object:
        """Call the handler; returns what it returns, which may have to be awaited.

        Raises:
            Exception: Whatever the handler raises.
        """
        kind, opened = notification.type, self._open
        if kind is NotificationType.ADD:
            return self._handler.on_add(opened(notification.new), notification.is_initial)
        if kind is NotificationType.UPDATE:
            new = opened(notification.new)
            # A resync: both are the same stored object, which need not be opened twice.
            old = new if notification.old is notification.new else opened(notification.old)
            return self._handler.on_update(old, new)
        if kind is NotificationType.DELETE:
            return self._handler.on_delete(opened(notification.old), notification.final_state_known)
        # The sync marker: notifications keep their order, so every initial add has been handled by now.
        self.is_synced = True
        self.on_synced()
        return None

    def task_done(self, notification: Notification[Stored]) -> None:
        """A notification has been processed."""
        if self._detector is not None:
            for stored in (notification.old, notification.new):
                if stored is not None:
                    self._detector.compare(notification.key, stored, f"after handler {self.name}")
        self._in_hand -= 1

    def check_turn(self, notification: Notification[Stored], seconds: float) -> None:
        """Name a handler in the log that has kept the event loop from everything else for long."""
        if seconds >= _BLOCKED_AFTER:
            _log.warning(
                "handler %s has blocked the event loop for %.1f s with the %s of %r: no watch, request or timer went on "
                "meanwhile. Await what takes long, or call it in a thread (asyncio.to_thread)",
                self.name,
                seconds,
                notification.type.name.lower(),
                notification.key,
            )

    def failed(self, notification: Notification[Stored]) -> None:
        """Log that the handler raised, the first time and then ever more rarely. The notification is not retried."""
        self.failures = count = self.failures + 1
        if self._metrics is not None:
            self._metrics.failed()
        what = f"{notification.type.name.lower()} of {notification.key!r}"
        # A handler that fails on every event would otherwise fill the log with tracebacks.
        if count == 1:
            _log.exception("handler %s failed on the %s, which is not retried", self.name, what)
        elif _is_power_of_ten(count):
            error = sys.exception()
            _log.error("handler %s has failed %d times, now on the %s: %r", self.name, count, what, error)


class HandlerDispatcher(ABC):
    """Dispatches notifications to one handler.

    Args:
        name: What logs call the handler.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @abstractmethod
    def start(self) -> None:
        """Begin; on the informer's loop, or with threads anywhere."""

    @abstractmethod
    def is_own(self) -> bool:
        """Whether this is asked by the handler itself, which cannot wait for its own end."""

    @abstractmethod
    def is_alive(self) -> bool:
        """Whether it has begun, and is not over."""

    async def end(self, timeout: float | None) -> None:
        """Wait until the handler is not being called any more, and nothing is left of this.

        Args:
            timeout: For how many seconds a call may go on; None for as long as it takes.
        """
        # A handler that stops its own informer would wait for itself.
        if not self.is_alive() or self.is_own():
            return
        at_first = None if timeout is None else min(timeout, _QUIET_WAIT)
        if await self._is_over(at_first) or timeout is None or at_first is None:
            return
        # Most calls end within the first wait; only the log of a longer one says what the stop waits for.
        if timeout > at_first:
            more = timeout - at_first
            _log.warning("stopping: handler %s is still busy; it has %g s more", self._name, more)
            if await self._is_over(more):
                return
        await self._give_up(timeout)

    @abstractmethod
    async def _is_over(self, within: float | None) -> bool:
        """Wait for the end for so many seconds; returns whether it came."""

    @abstractmethod
    async def _give_up(self, timeout: float) -> None:
        """Do what can be done about a call that has outlasted its grace."""


class TaskDispatcher(HandlerDispatcher, Generic[T]):
    """Calls a handler in a task of its own. Coroutines are awaited; a handler that blocks is named in the log."""

    def __init__(self, listener: ProcessorListener[T]) -> None:
        super().__init__(listener.name)
        self._listener = listener
        self._pushed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        listener.on_push = self._pushed.set

    def start(self) -> None:
        """Begin, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"masthead handler {self._listener.name}")

    def is_own(self) -> bool:
        """Whether the current task is the handler's."""
        return self._task is not None and _current_task() is self._task

    def is_alive(self) -> bool:
        """Whether the task has begun, and is not done."""
        return self._task is not None and not self._task.done()

    async def _is_over(self, within: float | None) -> bool:
        assert self._task is not None
        await asyncio.wait({self._task}, timeout=within)
        return self._task.done()

    async def _give_up(self, timeout: float) -> None:
        assert self._task is not None
        _log.warning("handler %s did not return within %g s; it is cancelled", self._name, timeout)
        self._task.cancel()
        if not await self._is_over(_QUIET_WAIT):
            _log.error("handler %s does not let itself be cancelled; its task is left", self._name)

    async def _run(self) -> None:
        listener, pushed, dispatched = self._listener, self._pushed, 0
        while not listener.is_closed():
            batch = listener.take()
            if not batch:
                await pushed.wait()
                # Cleared before the next take(): what is pushed in between is taken, or sets it again.
                pushed.clear()
                dispatched = 0
                continue
            await self._dispatch_all(batch)
            dispatched += len(batch)
            # Handlers that never suspend would otherwise keep the loop from reading the watch.
            if dispatched >= _TURN:
                await asyncio.sleep(0)
                dispatched = 0

    async def _dispatch_all(self, batch: Sequence[Notification[Stored]]) -> None:
        listener, clock = self._listener, asyncio.get_running_loop().time
        for notification in batch:
            if listener.is_closed():
                return
            try:
                began = clock()
                try:
                    result = listener.dispatch(notification)
                finally:
                    listener.check_turn(notification, clock() - began)
                if isinstance(result, Awaitable):
                    check = functools.partial(listener.check_turn, notification)
                    await _timed(cast("Awaitable[object]", result), clock, check)
            # Whatever it is, it is about this one notification; also a cancellation, if it is not this task's own.
            except BaseException as error:
                if self._must_end(error):
                    raise
                listener.failed(notification)
            listener.task_done(notification)

    def _must_end(self, error: BaseException) -> bool:
        """Whether an error is meant for more than the handler."""
        if isinstance(error, asyncio.CancelledError):
            return self._task is not None and self._task.cancelling() > 0
        return isinstance(error, KeyboardInterrupt | SystemExit)


class ThreadDispatcher(HandlerDispatcher, Generic[T]):
    """Calls a handler in a thread of its own, which it may block."""

    def __init__(self, listener: ProcessorListener[T]) -> None:
        super().__init__(listener.name)
        self._listener = listener
        self._pushed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"masthead-handler-{listener.name}", daemon=True)
        self._ended: Future[None] = Future()
        listener.on_push = self._pushed.set

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def is_own(self) -> bool:
        """Whether the current thread is the handler's."""
        return threading.current_thread() is self._thread

    def is_alive(self) -> bool:
        """Whether the thread has begun, and is not gone."""
        return self._thread.is_alive()

    async def _is_over(self, within: float | None) -> bool:
        # Not in an executor: those are waited for when the interpreter ends, and take nothing new then.
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def set_ended(_: Future[None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile
                loop.call_soon_threadsafe(ended.set)

        self._ended.add_done_callback(set_ended)
        try:
            async with asyncio.timeout(within):
                await ended.wait()
        except TimeoutError:
            return False
        self._thread.join()  # it has nothing left to do
        return True

    async def _give_up(self, timeout: float) -> None:
        _log.warning("handler %s did not return within %g s; its thread is left", self._name, timeout)

    def _run(self) -> None:
        try:
            self._dispatch_all()
        finally:
            self._ended.set_result(None)

    def _dispatch_all(self) -> None:
        listener, pushed = self._listener, self._pushed
        while not listener.is_closed():
            batch = listener.take()
            if not batch:
                pushed.wait()
                pushed.clear()
                continue
            for notification in batch:
                if listener.is_closed():
                    return
                try:
                    listener.dispatch(notification)
                # Whatever it is, it is about this one notification; also sys.exit(), which ends no program from here.
                except BaseException:  # noqa: BLE001
                    listener.failed(notification)
                listener.task_done(notification)


@types.coroutine
def _timed(
    awaitable: Awaitable[object], clock: Callable[[], float], check: Callable[[float], object]
) -> Generator[object, object, object]:
    """Await something, and check how long each of its turns on the event loop takes."""
    iterator = awaitable.__await__()
    resume: Callable[[], object] = iterator.__next__
    while True:
        began = clock()
        try:
            yielded = resume()
        except StopIteration as end:
            return end.value
        finally:
            check(clock() - began)
        try:
            yield yielded
        except BaseException as error:  # a cancellation, which is for what is awaited
            if not hasattr(iterator, "throw"):
                raise
            resume = functools.partial(iterator.throw, error)
        else:
            resume = iterator.__next__


def _nothing() -> None:
    """Do nothing: no dispatcher or registration is attached yet."""


def _current_task() -> asyncio.Task[object] | None:
    """The task that asks; None in a thread that has none."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _is_power_of_ten(count: int) -> bool:
    return set(str(count)[1:]) <= {"0"} and str(count)[0] == "1"
