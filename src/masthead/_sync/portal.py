"""Calls from blocking threads into an event loop, and back.

::

    calling thread ──call_soon_threadsafe──> loop's thread: a task runs the coroutine
           └─ waits for its lock <──────releases──────┘  result or error

A round trip takes 26 µs, against 41 µs with `asyncio.run_coroutine_threadsafe`, which chains futures.

A portal has one event loop in one thread, started on first use. Tasks on the loop hold no reference to the portal, so
that an unreachable portal is collected and its thread ends, closed or not.

A forked child process does not touch the loop: its sockets are shared with the parent, and closing them would cut the
parent off.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import logging
import os
import threading
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from masthead._meta.fork_pauses import paused_at_forks
from masthead._meta.green_threads import refuse_green_threads
from masthead._meta.locks import fork_safe_lock
from masthead._rest.call_guard import explain_closed
from masthead._sync.loops import new_loop
from masthead.errors import ClosedError

if TYPE_CHECKING:
    import contextvars
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import TypeAlias

    Spawn: TypeAlias = Callable[[Coroutine[object, None, None]], asyncio.Task[None]]

__all__ = ["Portal", "wait_until_free"]

R = TypeVar("R")

_log: Final = logging.getLogger("masthead.sync")

_EXIT_TIMEOUT: Final = 2.0
"""Seconds that the interpreter waits at exit for each client that was not closed."""
_SIGNAL_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks of a waiting thread for signals."""
_PROMPT_REFUSALS: Final = 20
"""Calls to a revoked portal that fail without a delay."""
_MAX_REFUSAL_SECONDS: Final = 1.0
"""The maximum delay of a refused call."""
_FORKED: Final = "the client was used before the process was forked, and cannot be used after it; make a new one here"
_WITHIN: Final = (
    "a blocking call was made on the client's own event loop, which would wait for itself; what is called back there, "
    "such as on_warning, a condition, an index function, a transform or a handler of watch errors, must not call the "
    "client"
)
_UNCLOSED: Final = "unclosed client; use it in a with block, or call close()"


def wait_until_free(lock: threading.Lock) -> None:
    """Acquire a lock, and let signal handlers run while waiting."""
    # A signal that arrives just before the wait does not interrupt it, so the wait is cut into pieces.
    while not lock.acquire(timeout=_SIGNAL_CHECK_SECONDS):
        pass


class Portal:
    """Runs coroutines for blocking threads.

    Threads: all methods may be called from any thread but the loop's own.
    """

    def __init__(
        self, loop: _LoopThread | None = None, context: Callable[[], contextvars.Context] | None = None
    ) -> None:
        self._loop = loop if loop is not None else _LoopThread()
        self._context = context

    @classmethod
    def attached(cls) -> Portal:
        """Create a portal to the running event loop, for threads that the loop's owner starts.

        The portal does not own the loop: `close` does nothing, and `revoke` ends its calls.
        """
        return cls(_ForeignLoop())

    def within(self, context: Callable[[], contextvars.Context]) -> Portal:
        """Create a portal to the same loop whose calls run in another context than the caller's.

        Args:
            context: Factory for the context of a call; runs in the calling thread.
        """
        return Portal(self._loop, context)

    def revoke(self) -> None:
        """End the calls of an attached portal, and refuse further ones; on the loop only."""
        self._loop.revoke()

    def abandon(self) -> None:
        """Revoke an attached portal whose tasks do not run: waiting threads return immediately; on the loop only."""
        self._loop.abandon()

    def runs(self, task: asyncio.Task[None]) -> bool:
        """Whether a task is a call of this portal; on the loop only."""
        return self._loop.runs(task)

    def at_close(self, close: Callable[[], Awaitable[object]]) -> None:
        """Register a callback that runs on the loop when the portal closes; last registered, first called."""
        self._loop.closers.append(close)

    def call(self, coroutine: Coroutine[object, None, R]) -> R:
        """Run a coroutine on the loop, and wait for its result.

        The coroutine sees the caller's context variables. An interrupt of the waiting thread cancels it, and is raised
        after the coroutine has ended; a second interrupt is raised immediately.

        Raises:
            ClosedError: If the portal is closed before or during the call, or the process was forked.
            ConfigError: If gevent or eventlet has replaced threads.
            RuntimeError: If it is called on the loop's own thread, which would deadlock.
            BaseException: Whatever the coroutine raises.
        """
        hop = _Hop(coroutine)
        try:
            self._loop.send(hop.start, hop.sent, self._context() if self._context is not None else None)
            hop.wait()
        except BaseException:  # the loop refused it, or an interrupt arrived at any point
            # A coroutine that the loop has not received must be closed here, or Python warns that it was never awaited.
            if not hop.is_sent:
                coroutine.close()
            elif self._loop.soon(hop.cancel):
                hop.wait()
            raise
        return hop.result()

    def start(self, begin: Callable[[Spawn], object]) -> None:
        """Have a function start a task on the loop; the task is cancelled when the portal closes.

        An accepted function is called even if the portal closes at the same time.

        Raises:
            ClosedError: If the portal is closed, or the process was forked.
            RuntimeError: If it is called on the loop's own thread.
        """
        self._loop.send(lambda loop: begin(loop.spawn))

    @property
    def spawn(self) -> Spawn:
        """A function that starts a task, to be called on the loop; the task is cancelled when the portal closes.

        It does not keep the portal alive.
        """
        return self._loop.spawn

    @property
    def close_soon(self) -> Callable[[], None]:
        """A function that closes the portal from any thread without waiting. It does not keep the portal alive."""
        return self._loop.begin_stop

    def soon(self, callback: Callable[[], object]) -> None:
        """Schedule a callback on the loop, from any thread; does nothing once the loop is closed."""
        self._loop.soon(callback)

    def check(self) -> None:
        """Check whether a call is possible now.

        Raises:
            ClosedError: If the portal is closed, or the process was forked.
            RuntimeError: If it is called on the loop's own thread.
        """
        self._loop.check()

    @property
    def is_closed(self) -> bool:
        """Whether the portal refuses calls."""
        return self._loop.is_closed

    @property
    def is_forked(self) -> bool:
        """Whether the loop belongs to the parent process and must not be touched here."""
        return self._loop.is_forked

    def close(self) -> None:
        """Cancel running tasks, run the registered callbacks and end the thread. Closing twice does nothing.

        Raises:
            RuntimeError: If it is called on the loop's own thread.
        """
        self._loop.close()

    def __del__(self) -> None:
        if self._loop.is_running:
            # A finalizer may run in any thread, the loop's included, and must not wait.
            self._loop.begin_stop()
            warnings.warn(_UNCLOSED, ResourceWarning, stacklevel=2, source=self)


class _LoopThread:
    """An event loop and its thread. Tasks on the loop reference this object, never the portal."""

    _owns_loop: ClassVar[bool] = True

    def __init__(self) -> None:
        self.closers: list[Callable[[], Awaitable[object]]] = []
        self.is_closed: bool = False
        self._gate = threading.RLock()  # reentrant: signal handlers and finalizers may run while it is held
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.give_ups: set[Callable[[], None]] = set()
        """End the calls of waiting threads."""

    @property
    def is_running(self) -> bool:
        return self._loop is not None and not self.is_closed and self._pid == os.getpid()

    @property
    def is_forked(self) -> bool:
        return self._loop is not None and self._pid != os.getpid()

    def check(self) -> None:
        if self._loop is not None and self._pid != os.getpid():
            raise ClosedError(_FORKED)
        if self._thread is threading.current_thread():
            raise RuntimeError(_WITHIN)
        if self.is_closed:
            raise ClosedError(explain_closed())

    def send(
        self,
        start: Callable[[_LoopThread], object],
        sent: Callable[[], object] = lambda: None,
        context: contextvars.Context | None = None,
    ) -> None:
        """Schedule a function that may start a task. An accepted function is called even if the loop is about to end.

        `sent` is called when the function is accepted, before it is scheduled. The default context is the caller's.
        """
        self.check()
        if self._owns_loop:
            # With every call: gunicorn's gevent workers replace threads after the hook post_fork, which may have begun.
            refuse_green_threads("a blocking client")
        with self._gate:
            if self.is_closed:
                raise ClosedError(explain_closed())
            loop = self._loop or self._begin()
            sent()
            loop.call_soon_threadsafe(start, self, context=context)

    def soon(self, callback: Callable[[], object]) -> bool:
        if self._loop is None or self._pid != os.getpid():
            return False
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop has closed since the check above
            return False
        return True

    def spawn(self, coroutine: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Start a task; on the loop only."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def runs(self, task: asyncio.Task[None]) -> bool:
        return task in self._tasks

    def close(self) -> None:
        if self.is_forked:
            # Without the gate: a thread that the fork left behind may hold it for ever.
            self.is_closed = True
            return
        if self._thread is threading.current_thread():
            raise RuntimeError(_WITHIN)
        self.begin_stop()
        self.wait(None)

    def revoke(self) -> None:
        """Refuse: only an attached portal can be revoked."""
        raise RuntimeError("a client's own event loop is closed, not revoked")

    def abandon(self) -> None:
        """Refuse: only an attached portal can be abandoned."""
        raise RuntimeError("a client's own event loop is closed, not abandoned")

    def begin_stop(self) -> None:
        with self._gate:
            was_running, self.is_closed = self.is_running, True
            if was_running:
                self.soon(self._stopping.set)

    def wait(self, timeout: float | None) -> None:
        if self._thread is not None:
            self._thread.join(timeout)

    def _begin(self) -> asyncio.AbstractEventLoop:
        loop = new_loop()
        thread = threading.Thread(target=self._serve, args=(loop,), name="masthead-client", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            loop.close()
            raise
        self._pid, self._thread, self._loop = os.getpid(), thread, loop
        with _begun_lock:
            _begun.add(self)
        return loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        # Not asyncio.Runner: it shuts the executor down from another thread, which Python 3.12 refuses to start at
        # interpreter exit, when clients that were not closed end.
        executor = ThreadPoolExecutor(thread_name_prefix="masthead-client")
        loop.set_default_executor(executor)
        try:
            loop.run_until_complete(self._live())
            loop.run_until_complete(_end_all_others())
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()
            executor.shutdown()

    async def _live(self) -> None:
        with paused_at_forks():
            await self._stopping.wait()
            # A cancelled task may start another one in its cleanup.
            while self._tasks:
                for task in self._tasks:
                    task.cancel()
                await asyncio.wait(self._tasks)
            while self.closers:
                await self._close(self.closers.pop())

    async def _close(self, close: Callable[[], Awaitable[object]]) -> None:
        try:
            await close()
        except Exception:  # noqa: BLE001 - one failing resource must not keep the others open or the thread alive
            _log.exception("a resource of the client could not be closed; the others were")


class _ForeignLoop(_LoopThread):
    """The running event loop, owned by someone else."""

    _owns_loop = False

    def __init__(self) -> None:
        super().__init__()
        self._pid, self._thread = os.getpid(), threading.current_thread()
        self._loop = asyncio.get_running_loop()
        self._refusals = 0

    @property
    def is_running(self) -> bool:
        return False  # so that neither a finalizer nor the interpreter's exit closes a foreign loop

    def spawn(self, coroutine: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Start a task; on the loop only."""
        task = super().spawn(coroutine)
        # A loop with virtual time pauses while a thread works. This thread waits for the task, so time must pass.
        release: Callable[[], None] | None = getattr(self._loop, "release", None)
        hold: Callable[[], None] | None = getattr(self._loop, "hold", None)
        if release is not None and hold is not None:
            release()
            task.add_done_callback(lambda _: hold())
        if self.is_closed:  # revoked after the call was accepted
            task.cancel()
        return task

    def close(self) -> None:
        pass

    def begin_stop(self) -> None:
        pass

    def revoke(self) -> None:
        self.is_closed = True
        for task in self._tasks:
            task.cancel()

    def abandon(self) -> None:
        self.revoke()
        for give_up in list(self.give_ups):
            give_up()

    def check(self) -> None:
        if self.is_closed:
            # A thread that ignores refusals, and repeats its call for ever, must not take the processor from others.
            self._refusals += 1
            if self._refusals > _PROMPT_REFUSALS:
                threading.Event().wait(min(_MAX_REFUSAL_SECONDS, self._refusals / 1000))
        super().check()


async def _end_all_others() -> None:
    """Cancel all other tasks of the loop, and wait for them."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class _Hop(Generic[R]):
    """One call: the calling thread waits, the loop executes.

    Attributes:
        is_sent: Whether the loop may have received the call.
    """

    __slots__ = ("_coroutine", "_done", "_error", "_is_closing", "_is_over", "_task", "_value", "is_sent")

    _value: R

    def __init__(self, coroutine: Coroutine[object, None, R]) -> None:
        self._coroutine = coroutine
        self._error: BaseException | None = None
        self._is_closing = False
        self._task: asyncio.Task[None] | None = None
        self._is_over = False
        self._done = threading.Lock()  # held until the call has ended
        self._done.acquire()
        self.is_sent = False

    def sent(self) -> None:
        self.is_sent = True

    def wait(self) -> None:
        """Wait until the call has ended; in the calling thread, and again after an interrupt."""
        # The lock alone is not enough: an interrupt may arrive just after it was acquired, and it is released once.
        while not self._is_over:
            self._done.acquire(timeout=_SIGNAL_CHECK_SECONDS)

    def start(self, loop: _LoopThread) -> None:
        loop.give_ups.add(self.give_up)
        self._task = loop.spawn(self._run())
        # On the end of the task, not of the coroutine: a task that is cancelled before its first step never enters it.
        self._task.add_done_callback(functools.partial(self._finish, loop))

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:
            self._coroutine.close()
            self._end()

    async def _run(self) -> None:
        try:
            self._value = await self._coroutine
        # SystemExit, too, is for the waiting thread: here it would end the loop of all callers.
        except BaseException as error:  # noqa: BLE001
            self._error = error

    def _finish(self, loop: _LoopThread, _: asyncio.Task[None]) -> None:
        loop.give_ups.discard(self.give_up)
        self._is_closing = loop.is_closed
        self._coroutine.close()
        self._end()

    def give_up(self) -> None:
        """End the call of a thread whose task does not run."""
        self._is_closing = True
        self._end()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._done.release()

    def result(self) -> R:
        error = self._error
        if error is None and hasattr(self, "_value"):
            return self._value
        if error is None or isinstance(error, asyncio.CancelledError):
            error = (
                ClosedError(f"the call was given up: {explain_closed()}")
                if self._is_closing
                else asyncio.CancelledError()
            )
        elif error.__traceback__ is not None:
            error.__traceback__ = error.__traceback__.tb_next  # begin at the coroutine, not at `_run`
        try:
            raise error
        finally:
            self._error = None
            del error  # breaks the cycle of frame and traceback


_begun: Final[weakref.WeakSet[_LoopThread]] = weakref.WeakSet()
_begun_lock: Final = fork_safe_lock()  # a thread may create a client while the interpreter exits


@atexit.register
def _stop_all() -> None:
    """Close all loops before the interpreter tears its modules down."""
    with _begun_lock:
        running = [thread for thread in _begun if thread.is_running]
    # Stop all before waiting for the first: their timeouts must not add up.
    for thread in running:
        thread.begin_stop()
    for thread in running:
        thread.wait(_EXIT_TIMEOUT)
