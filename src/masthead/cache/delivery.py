"""Telling handlers, each at its own pace.

::

    informer ──push──> HandlerBuffer ──take──> one task, or one thread, calls the handler
                       (bounded: see `masthead.sansio.buffer`)

A slow handler delays no other: nobody waits when something is pushed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead.meta.object import Object
from masthead.sansio.buffer import HandlerBuffer, Notice, NoticeType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead.cache.handlers import EventHandler
    from masthead.cache.holding import Held, Holding
    from masthead.cache.meters import HandlerMeter

__all__ = ["Delivery", "Listener", "TaskDelivery", "ThreadDelivery"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

_AT_ONCE: Final = 100
"""How many notices are taken out of a buffer at a time. Those cannot be folded any more."""


class Listener(Generic[T]):
    """A handler, and what it has yet to hear.

    Threads: one tells; any may push.
    """

    def __init__(
        self, handler: EventHandler[T], holding: Holding[T], *, name: str, limit: int, meter: HandlerMeter
    ) -> None:
        self.name = name
        self.is_synced = False
        self._is_closed = False
        self.on_push: Callable[[], object] = _nothing
        self.on_synced: Callable[[], object] = _nothing
        self._handler = handler
        self._open = holding.open
        self._lock = threading.Lock()
        self._buffer: HandlerBuffer[Held] = HandlerBuffer(limit)
        self._in_hand = 0
        self._meter = meter

    @property
    def pending(self) -> int:
        """How many notices it has yet to hear; none once it is removed, or the informer stopped."""
        return 0 if self._is_closed else len(self._buffer) + self._in_hand

    def push(self, notices: Sequence[Notice[Held]]) -> None:
        """Have the handler told; returns at once."""
        with self._lock:
            if self._is_closed:
                return
            self._buffer.extend(notices)
        self._meter.pending(self.pending)
        self.on_push()

    def has_ended(self) -> bool:
        """Whether nothing more is to be told."""
        return self._is_closed

    def close(self) -> None:
        """Drop what was not told yet, and take nothing more."""
        with self._lock:
            self._is_closed = True
            self._buffer.clear()
        self.on_push()

    def take(self) -> list[Notice[Held]]:
        """What is to be told next; empty if there is nothing."""
        with self._lock:
            taken = self._buffer.take(_AT_ONCE)
            self._in_hand = len(taken)
        return taken

    def tell(self, notice: Notice[Held]) -> object:
        """Call the handler; returns what it returns, which may have to be awaited.

        Raises:
            Exception: whatever the handler raises.
        """
        kind, opened = notice.type, self._open
        if kind is NoticeType.ADD:
            return self._handler.on_add(opened(notice.new), notice.is_initial)
        if kind is NoticeType.UPDATE:
            new = opened(notice.new)
            old = new if notice.old is notice.new else opened(notice.old)
            return self._handler.on_update(old, new)
        if kind is NoticeType.DELETE:
            return self._handler.on_delete(opened(notice.old), notice.final_state_known)
        self.is_synced = True
        self.on_synced()
        return None

    def told(self) -> None:
        """One notice is done with."""
        self._in_hand -= 1

    def failed(self, notice: Notice[Held]) -> None:
        """The handler raised, just now: say so. The notice is not told again."""
        self._meter.failed()
        what = f"{notice.type.name.lower()} of {notice.key!r}"
        _log.exception("handler %s failed on the %s, which it is not told again", self.name, what)


class Delivery(ABC):
    """Tells one handler what it has to hear."""

    @abstractmethod
    def start(self) -> None:
        """Begin; on the informer's loop, or with threads anywhere."""

    @abstractmethod
    def is_own(self) -> bool:
        """Whether this is asked by the handler itself, which cannot wait for its own end."""

    @abstractmethod
    async def end(self, grace: float | None) -> None:
        """Wait until the handler is not being called any more, and nothing is left of this.

        Args:
            grace: For how many seconds a call may go on; None for as long as it takes.
        """


class TaskDelivery(Delivery, Generic[T]):
    """Tells a handler in a task of its own. Coroutines are awaited; plain functions must not block."""

    def __init__(self, listener: Listener[T]) -> None:
        self._listener = listener
        self._pushed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        listener.on_push = self._pushed.set

    def start(self) -> None:
        """Begin, on the running loop."""
        self._task = asyncio.get_running_loop().create_task(
            self._run(), name=f"masthead handler {self._listener.name}"
        )

    def is_own(self) -> bool:
        """Whether the current task is the handler's."""
        return self._task is not None and asyncio.current_task() is self._task

    async def end(self, grace: float | None) -> None:
        """Wait for the call that is under way, and cancel it when the grace is over."""
        self._pushed.set()
        if self._task is None or self.is_own():
            return
        _, late = await asyncio.wait({self._task}, timeout=grace)
        for task in late:
            _log.warning("handler %s did not return within %g s; it is cancelled", self._listener.name, grace)
            task.cancel()
            await asyncio.wait({task})

    async def _run(self) -> None:
        listener, pushed = self._listener, self._pushed
        while not listener.has_ended():
            batch = listener.take()
            if not batch:
                await pushed.wait()
                pushed.clear()
                continue
            for notice in batch:
                if listener.has_ended():
                    return
                try:
                    result = listener.tell(notice)
                    if isinstance(result, Awaitable):
                        await result
                # Whatever it is, it is about this one notice; also a cancellation, if it is not this task's own.
                except BaseException as error:
                    if self._must_end(error):
                        raise
                    listener.failed(notice)
                listener.told()
            await asyncio.sleep(0)

    def _must_end(self, error: BaseException) -> bool:
        """Whether an error is meant for more than the handler."""
        if isinstance(error, asyncio.CancelledError):
            return self._task is not None and self._task.cancelling() > 0
        return isinstance(error, KeyboardInterrupt | SystemExit)


class ThreadDelivery(Delivery, Generic[T]):
    """Tells a handler in a thread of its own, which it may block."""

    def __init__(self, listener: Listener[T]) -> None:
        self._listener = listener
        self._pushed = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"masthead-handler-{listener.name}", daemon=True
        )
        self._ended: Future[None] = Future()
        listener.on_push = self._pushed.set

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def is_own(self) -> bool:
        """Whether the current thread is the handler's."""
        return threading.current_thread() is self._thread

    async def end(self, grace: float | None) -> None:
        """Wait for the call that is under way; one that outlasts the grace is left to end by itself."""
        self._pushed.set()
        if self._thread.ident is None or self.is_own():
            return
        # Not in an executor: those are waited for when the interpreter ends, and take nothing new then.
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def notice(_: Future[None]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile
                loop.call_soon_threadsafe(ended.set)

        self._ended.add_done_callback(notice)
        try:
            async with asyncio.timeout(grace):
                await ended.wait()
        except TimeoutError:
            _log.warning(
                "handler %s did not return within %g s; its thread is left", self._listener.name, grace
            )
        else:
            self._thread.join()  # it has nothing left to do

    def _run(self) -> None:
        try:
            self._tell_all()
        finally:
            self._ended.set_result(None)

    def _tell_all(self) -> None:
        listener, pushed = self._listener, self._pushed
        while not listener.has_ended():
            batch = listener.take()
            if not batch:
                pushed.wait()
                pushed.clear()
                continue
            for notice in batch:
                if listener.has_ended():
                    return
                try:
                    listener.tell(notice)
                # Whatever it is, it is about this one notice; also sys.exit(), which ends no program from here.
                except BaseException:  # noqa: BLE001
                    listener.failed(notice)
                listener.told()


def _nothing() -> None:
    """What there is to do as long as nobody is there to do it."""
