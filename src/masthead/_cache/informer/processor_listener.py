"""Dispatches notifications to handlers, each at its own speed.

::

    informer ──push──> HandlerBuffer ──take──> one task, or one thread, calls the handler
                       (bounded: see `masthead._sansio.handler_buffer`)

A slow handler delays no other, because a push never waits.
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
from masthead._sansio.handler_buffer import HandlerBuffer, Notification, NotificationType

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from masthead._cache.informer.handlers import EventHandler
    from masthead._cache.informer.mutation_detector import MutationDetector
    from masthead._cache.reflector.metrics import HandlerMetrics
    from masthead._cache.store.storage import ObjectStorage, Stored

__all__ = ["HandlerDispatcher", "ProcessorListener", "TaskDispatcher", "ThreadDispatcher"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_BATCH: Final = 100
"""Notifications taken out of a buffer together; the buffer cannot merge them any more."""
_TURN: Final = 1000
"""Notifications dispatched before other tasks run. Several times the events that a watch reads per turn, or a fast
handler would fall behind a busy watch."""
_BLOCKED_AFTER: Final = 1.0
"""Seconds that a handler may block the event loop before the log names it."""
_QUIET_WAIT: Final = 1.0
"""Seconds that a stop waits for a handler before it logs so; also the time of a cancelled task to end."""


class ProcessorListener(Generic[T]):
    """A handler and its pending notifications.

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
        self.on_push: Callable[[], object] = _no_op
        self.on_synced: Callable[[], object] = _no_op
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
        """The number of pending notifications; 0 after a removal or stop."""
        return 0 if self._is_closed else len(self._buffer) + self._in_hand

    def push(self, notifications: Sequence[Notification[Stored]]) -> None:
        """Enqueue notifications for the handler, without waiting."""
        with self._lock:
            if self._is_closed:
                return
            self._buffer.extend(notifications)
            self._measure()
        # Outside the lock, which the dispatcher takes as soon as it wakes up.
        self.on_push()

    def begin_with(self, items: dict[str, Stored]) -> None:
        """Enqueue the existing objects as initial adds, without waiting.

        Args:
            items: The objects by key. The listener takes over the dict.
        """
        with self._lock:
            self._buffer.begin_with(items)
            self._measure()
        self.on_push()

    def _measure(self) -> None:
        if self._metrics is not None:
            self._metrics.pending(self.pending)

    def is_closed(self) -> bool:
        """Whether the listener accepts no more notifications."""
        return self._is_closed

    def close(self) -> None:
        """Drop pending notifications, and accept no more."""
        with self._lock:
            self._is_closed = True
            self._buffer.clear()
            self._measure()
        self.on_push()

    def take(self) -> list[Notification[Stored]]:
        """Take the next notifications; empty if there are none."""
        with self._lock:
            batch = self._buffer.take(_BATCH)
            self._in_hand = len(batch)
            self._measure()
        return batch

    def dispatch(self, notification: Notification[Stored]) -> object:
        """Call the handler; return its result, which may be an awaitable.

        Raises:
            Exception: Any exception of the handler.
        """
        kind, opened = notification.type, self._open
        if kind is NotificationType.ADD:
            return self._handler.on_add(opened(notification.new), notification.is_initial)
        if kind is NotificationType.UPDATE:
            new = opened(notification.new)
            # A resync delivers the same stored object twice, which need not be unpacked twice.
            old = new if notification.old is notification.new else opened(notification.old)
            return self._handler.on_update(old, new)
        if kind is NotificationType.DELETE:
            return self._handler.on_delete(opened(notification.old), notification.final_state_known)
        # The sync marker. Notifications keep their order, so every initial add has been handled by now.
        self.is_synced = True
        self.on_synced()
        return None

    def task_done(self, notification: Notification[Stored]) -> None:
        """Note that a notification has been processed."""
        if self._detector is not None:
            for stored in (notification.old, notification.new):
                if stored is not None:
                    self._detector.compare(notification.key, stored, f"after handler {self.name}")
        self._in_hand -= 1

    def check_turn(self, notification: Notification[Stored], seconds: float) -> None:
        """Log a handler that has blocked the event loop."""
        if seconds >= _BLOCKED_AFTER:
            _log.warning(
                "handler %s has blocked the event loop for %.1f s with the %s of %r: no watch, request or timer went "
                "on meanwhile. Await what takes long, or call it in a thread (asyncio.to_thread)",
                self.name,
                seconds,
                notification.type.name.lower(),
                notification.key,
            )

    def failed(self, notification: Notification[Stored]) -> None:
        """Log an exception of the handler: the first, the tenth, the hundredth. The notification is not retried."""
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
        name: The handler's name in logs.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @abstractmethod
    def start(self) -> None:
        """Start; on the informer's loop, or with threads anywhere."""

    @abstractmethod
    def is_own(self) -> bool:
        """Whether the handler itself is the caller, which cannot wait for its own end."""

    @abstractmethod
    def is_alive(self) -> bool:
        """Whether the dispatcher was started, and has not ended."""

    async def end(self, timeout: float | None) -> None:
        """Wait for the running call to return, and for the task or thread to end.

        Args:
            timeout: Seconds that the call has; None for no limit.
        """
        # A handler that stops its own informer would wait for itself.
        if not self.is_alive() or self.is_own():
            return
        first_wait = None if timeout is None else min(timeout, _QUIET_WAIT)
        if await self._has_ended(first_wait) or timeout is None or first_wait is None:
            return
        # Most calls return during the first wait; for a longer one, the log names the handler.
        if timeout > first_wait:
            remaining = timeout - first_wait
            _log.warning("stopping: handler %s is still busy; it has %g s more", self._name, remaining)
            if await self._has_ended(remaining):
                return
        await self._give_up(timeout)

    @abstractmethod
    async def _has_ended(self, timeout: float | None) -> bool:
        """Wait for the end for `timeout` seconds; return whether it came."""

    @abstractmethod
    async def _give_up(self, timeout: float) -> None:
        """Abandon a call that has outlasted its grace."""


class TaskDispatcher(HandlerDispatcher, Generic[T]):
    """Calls a handler in its own task. Coroutines are awaited; the log names a handler that blocks."""

    def __init__(self, listener: ProcessorListener[T]) -> None:
        super().__init__(listener.name)
        self._listener = listener
        self._pushed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        listener.on_push = self._pushed.set

    def start(self) -> None:
        """Start on the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"masthead handler {self._listener.name}")

    def is_own(self) -> bool:
        """Whether the current task is the handler's."""
        return self._task is not None and _current_task() is self._task

    def is_alive(self) -> bool:
        """Whether the task was started, and is not done."""
        return self._task is not None and not self._task.done()

    async def _has_ended(self, timeout: float | None) -> bool:
        assert self._task is not None
        await asyncio.wait({self._task}, timeout=timeout)
        return self._task.done()

    async def _give_up(self, timeout: float) -> None:
        assert self._task is not None
        _log.warning("handler %s did not return within %g s; it is cancelled", self._name, timeout)
        self._task.cancel()
        if not await self._has_ended(_QUIET_WAIT):
            _log.error("handler %s does not let itself be cancelled; its task is left", self._name)

    async def _run(self) -> None:
        listener, pushed, dispatched = self._listener, self._pushed, 0
        while not listener.is_closed():
            batch = listener.take()
            if not batch:
                await pushed.wait()
                # Cleared before the next take(): a push in between is taken, or sets the event again.
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
            # The exception concerns this notification only; so does a cancellation, unless it is this task's own.
            except BaseException as error:
                if self._must_end(error):
                    raise
                listener.failed(notification)
            listener.task_done(notification)

    def _must_end(self, error: BaseException) -> bool:
        """Whether an error must end the task, and not only the call."""
        if isinstance(error, asyncio.CancelledError):
            return self._task is not None and self._task.cancelling() > 0
        return isinstance(error, KeyboardInterrupt | SystemExit)


class ThreadDispatcher(HandlerDispatcher, Generic[T]):
    """Calls a handler in its own thread, which it may block."""

    def __init__(self, listener: ProcessorListener[T]) -> None:
        super().__init__(listener.name)
        self._listener = listener
        self._pushed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"masthead-handler-{listener.name}", daemon=True)
        self._ended: Future[None] = Future()
        listener.on_push = self._pushed.set

    def start(self) -> None:
        """Start."""
        self._thread.start()

    def is_own(self) -> bool:
        """Whether the current thread is the handler's."""
        return threading.current_thread() is self._thread

    def is_alive(self) -> bool:
        """Whether the thread was started, and has not ended."""
        return self._thread.is_alive()

    async def _has_ended(self, timeout: float | None) -> bool:
        # Not in an executor: the interpreter waits for executors at its end, and they accept nothing new then.
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def set_ended(_: Future[None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed in the meantime
                loop.call_soon_threadsafe(ended.set)

        self._ended.add_done_callback(set_ended)
        try:
            async with asyncio.timeout(timeout):
                await ended.wait()
        except TimeoutError:
            return False
        self._thread.join()  # returns without delay: the future is set by the thread's last statement
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
                # The exception concerns this notification only; so does sys.exit(), which ends no program from a
                # thread.
                except BaseException:  # noqa: BLE001
                    listener.failed(notification)
                listener.task_done(notification)


@types.coroutine
def _timed(
    awaitable: Awaitable[object], clock: Callable[[], float], check: Callable[[float], object]
) -> Generator[object, object, object]:
    """Await something, and measure each of its turns on the event loop."""
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
        except BaseException as error:  # a cancellation, which goes to the awaited object
            if not hasattr(iterator, "throw"):
                raise
            resume = functools.partial(iterator.throw, error)
        else:
            resume = iterator.__next__


def _no_op() -> None:
    """No-op: no dispatcher or registration is attached yet."""


def _current_task() -> asyncio.Task[object] | None:
    """The current task; None in a thread without an event loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _is_power_of_ten(count: int) -> bool:
    return set(str(count)[1:]) <= {"0"} and str(count)[0] == "1"
