"""Virtual time: an event loop whose clock jumps when all tasks wait, for tests of long timeouts.

::

    @in_virtual_time
    async def test_a_silent_watch_is_given_up() -> None:
        async with masthead.server.run(clock=LoopClock()) as server:
            ...
            await asyncio.sleep(90)  # takes no time
            assert now() == 90.0

A `VirtualLoop` polls its sockets like any event loop. When no socket is ready and no callback is due, its clock jumps
to the next timer. The whole test must run in this loop, including the server. Time does not pass while threads of the
loop's executor run.

Connections between tasks of the loop go through memory; see `masthead.testing._memory_network`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import itertools
import socket
import threading
import weakref
from collections import deque
from contextvars import Context, ContextVar
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from masthead._meta.forks import fork_with_loop
from masthead.testing._memory_loop import VirtualLoop as MemoryNetworkLoop
from masthead.testing._memory_network import MemoryListener, MemorySocket
from masthead.testing._virtual_selector import VirtualSelector

if TYPE_CHECKING:
    import selectors
    from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping
    from concurrent.futures import Executor
    from typing import TypeVarTuple

    Ts = TypeVarTuple("Ts")

__all__ = ["LoopClock", "VirtualLoop", "in_virtual_time", "now", "process", "run"]

P = ParamSpec("P")
T = TypeVar("T")


_THREAD_SECONDS: Final = 0.25
"""Real seconds for which the loop stands still while a thread neither returns nor calls the loop."""
_COLLECTION_THRESHOLD: Final = 50_000
"""New objects before Python looks for garbage."""
_BURIAL_ROUNDS: Final = 5
"""Cancellations of a task before it is abandoned."""
_BURIAL_TURNS: Final = 200
"""Turns of the loop for cancelled tasks to end."""
_RESOLUTION: Final = 1e-6
_DIGITS: Final = 6
"""Decimal places of elapsed seconds; sums of floats are inexact beyond."""
START: Final = 10_000_000.0
"""The initial time of a virtual loop: the uptime of a machine after 116 days.

Clocks of event loops never start at 0. With 0, code that mistakes it for "not yet" or "long ago" would pass its tests.
"""


process: Final[ContextVar[object]] = ContextVar("masthead.testing.process", default=None)
"""The simulated process of a task. Its child tasks inherit it, so that all can be frozen; see `VirtualLoop.freeze`."""


class _ReadyQueue(deque[asyncio.Handle]):
    """Ready callbacks. Callbacks of frozen processes are set aside.

    Attributes:
        frozen: Callbacks by frozen process.
    """

    def __init__(self, handles: Iterable[asyncio.Handle] = ()) -> None:
        super().__init__(handles)
        self.frozen: dict[object, list[asyncio.Handle]] = {}
        # Returned instead of a frozen callback: the loop skips cancelled handles.
        self._placeholder = cast("asyncio.Handle", SimpleNamespace(_cancelled=True))

    def popleft(self) -> asyncio.Handle:
        handle = super().popleft()
        if self.frozen and (set_aside := self.frozen.get(_process_of(handle))) is not None:
            set_aside.append(handle)
            return self._placeholder
        return handle


_abandoned: Final[list[asyncio.Task[object]]] = []
"""Tasks that ignored their cancellation. Collecting one would run its code, which does not end at all."""


def _abandon(task: asyncio.Task[object]) -> None:
    """Hide a task from the end of the event loop, which would wait for it."""
    asyncio.tasks._unregister_task(task)  # noqa: SLF001
    cast("Any", task)._log_destroy_pending = False  # noqa: SLF001
    _abandoned.append(task)


def _process_of(handle: asyncio.Handle | None) -> object:
    context: Context | None = getattr(handle, "_context", None)
    return None if context is None else context.get(process)


class _NumberedTask(asyncio.Task[T]):
    """A task whose place in sets is the same in every run, because it does not depend on its address."""

    def __init__(self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], number: int, **options: Any) -> None:  # noqa: ANN401
        self._number = number
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class VirtualLoop(MemoryNetworkLoop):
    """An event loop whose clock jumps to the next timer.

    Args:
        start: The initial time; a large number by default, as on a machine that has run for months.
    """

    has_virtual_time: Final = True
    """Tells code that could compute in threads to do without them."""
    _scheduled: list[asyncio.TimerHandle]
    _transports: Mapping[int, asyncio.WriteTransport]

    def __init__(self, start: float = START) -> None:
        self._start = start
        self._impatient = VirtualSelector(start)
        self._network = self._impatient.network
        super().__init__(self._impatient)
        self._ready = _ReadyQueue()
        self._thread_called = threading.Event()
        self._unplugged: dict[object, list[selectors.SelectorKey]] = {}
        self._after_threads: dict[object, list[Callable[[], object]]] = {}
        self._task_numbers = itertools.count()
        self._tasks_of: dict[object, weakref.WeakKeyDictionary[asyncio.Task[object], None]] = {}
        # The default is a nanosecond, which a float cannot represent after a few weeks of virtual time.
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._impatient.now

    @property
    def elapsed(self) -> float:
        """The seconds since the loop was created, to the microsecond."""
        return round(self._impatient.now - self._start, _DIGITS)

    def advance(self, seconds: float) -> None:
        """Advance the clock in one step, as after the sleep of a machine: skipped timers run late.

        Raises:
            ValueError: If time would go back.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: cannot advance by {seconds} seconds")
        self._impatient.now += seconds

    async def until_idle(self, turns: int = 10_000) -> bool:
        """Wait until all other tasks wait for time to pass, without letting time pass.

        Args:
            turns: The number of turns after which the loop counts as busy forever.

        Returns:
            Whether all tasks wait; False after all turns.
        """
        idler: asyncio.Future[bool] = self.create_future()
        self._impatient.idlers[idler] = turns
        try:
            return await idler
        finally:
            self._impatient.idlers.pop(idler, None)

    async def wait_for_future(self, future: asyncio.Future[T], turns: int) -> bool:
        """Wait for a future while time passes, for a limited number of turns of the loop.

        Returns:
            Whether the future is done.
        """
        counter: asyncio.Future[bool] = self.create_future()
        waiting: set[asyncio.Future[T] | asyncio.Future[bool]] = {future, counter}
        self._impatient.counters[counter] = turns
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._impatient.counters.pop(counter, None)
            counter.cancel()
        return future.done()

    @property
    def next_timer(self) -> float | None:
        """The expiry of the next timer; None without timers."""
        # asyncio removes cancelled timers only when they expire or become too many.
        return min((timer.when() for timer in self._scheduled if not timer.cancelled()), default=None)

    def hold(self) -> None:
        """Stop the clock on behalf of a working thread, until an equal number of `release` calls."""
        self._hold(process.get(), 1)

    def release(self) -> None:
        """Undo a `hold`."""
        self._hold(process.get(), -1)

    def _hold(self, owner: object, count: int) -> None:
        self._impatient.hold(owner, count)
        if not self._impatient.holds[owner]:
            for call in self._after_threads.pop(owner, ()):
                # In a context outside of the process, whose callbacks may not run any more.
                self.call_soon(call, context=Context())

    def call_after_threads(self, owner: object, call: Callable[[], object]) -> None:
        """Call a function in the loop when no thread of a process works."""
        self._after_threads.setdefault(owner, []).append(call)
        self._hold(owner, 0)

    def freeze(self, frozen: object) -> None:
        """Suspend all tasks and sockets of a process until `thaw`. Time passes for the others.

        Args:
            frozen: The value of `process` in the context of its tasks.
        """
        self._ready.frozen.setdefault(frozen, [])
        sockets = self.sockets_of(frozen)
        # Otherwise select would report the unread data again and again, and time would not pass.
        for key in sockets:
            self._impatient.unregister(key.fileobj)
        self._unplugged[frozen] = sockets
        self._impatient.has_suspended = True

    def thaw(self, frozen: object) -> None:
        """Resume a process: overdue callbacks run now."""
        for key in self._unplugged.pop(frozen, ()):
            self._impatient.register(key.fileobj, key.events, key.data)
        self._ready.extend(self._ready.frozen.pop(frozen, ()))
        self._impatient.has_suspended = bool(self._unplugged)

    def sockets_of(self, owner: object) -> list[selectors.SelectorKey]:
        """Return the sockets that a process uses."""
        return [
            key
            for key in self._impatient.get_map().values()
            if any(_process_of(handle) is owner for handle in key.data or ())
        ]

    def kill(self, victim: object) -> None:
        """Kill a process: its tasks stand still for good, its sockets are closed, and time does not wait for it.

        No code of it runs until `bury`, not even ``finally`` blocks. One of its tasks may be the caller.

        Args:
            victim: The value of `process` in the context of its tasks.
        """
        # Sockets of a frozen process are not registered, so that they could not be found and closed.
        self.thaw(victim)
        self._impatient.dead.add(victim)
        self._impatient.holds.pop(victim, None)
        # In a context outside of the process, or closing the sockets would stand still, too.
        Context().run(self._abort_sockets, victim)
        # Time must not stop at timers of dead tasks.
        for timer in self._scheduled:
            if _process_of(timer) is victim:
                timer.cancel()
        # Set aside and not dropped: a task without its wake-up could not be cancelled later.
        self._ready.frozen[victim] = []

    def _abort_sockets(self, victim: object) -> None:
        for key in self.sockets_of(victim):
            transport = self._transports.get(key.fd)
            if transport is not None:
                transport.abort()
                continue
            # A listening or connecting socket.
            for handle in key.data:
                for argument in getattr(handle, "_args", None) or ():
                    if isinstance(argument, socket.socket | MemoryListener | MemorySocket):
                        self.remove_reader(key.fd)
                        self.remove_writer(key.fd)
                        argument.close()

    async def bury(self, victim: object) -> None:
        """Cancel the tasks of an ended process. Tasks that ignore it are abandoned: they never run again.

        Args:
            victim: The value of `process` in the context of its tasks.
        """
        self._impatient.dead.add(victim)
        self._impatient.holds.pop(victim, None)
        self.thaw(victim)
        left: list[asyncio.Task[object]] = []
        # Code in a ``finally`` block may await again or start tasks, so that one cancellation may not suffice.
        for _ in range(_BURIAL_ROUNDS):
            left = [task for task in self._tasks_of.get(victim, ()) if not task.done()]
            if not left:
                break
            for task in left:
                task.cancel()
            await self.until_idle(_BURIAL_TURNS)
        # Abandoned tasks must not run, even if a future wakes them.
        self._ready.frozen[victim] = []
        for task in left:
            if not task.done():
                _abandon(task)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
        **options: Any,  # noqa: ANN401 - those of later Python versions
    ) -> asyncio.Task[T]:
        """Create a task, and remember its process."""
        if self.get_task_factory() is None:
            number = next(self._task_numbers)
            task: asyncio.Task[T] = _NumberedTask(coro, number, loop=self, name=name, context=context, **options)
        else:
            task = super().create_task(coro, name=cast("Any", name), context=context, **options)
        owner = process.get() if context is None else context.get(process)
        if owner is not None:
            # In the order of their creation, which a WeakSet would not keep.
            tasks = self._tasks_of.setdefault(owner, weakref.WeakKeyDictionary())
            tasks[cast("asyncio.Task[object]", task)] = None
        return task

    def fork(self) -> int:
        """Fork the process as `os.fork` does. The loop goes on in the parent and in the child, independently.

        Both have all tasks, timers and connections in memory. Sockets of the kernel stay with the parent.

        Raises:
            RuntimeError: If a thread works for the loop: it would not exist in the child.
        """
        if self._impatient.is_held:
            raise RuntimeError("the loop cannot be forked while a thread works for it")
        pid = fork_with_loop()
        if not pid:
            self._take_over()
        return pid

    def _take_over(self) -> None:
        """Detach a forked loop from its parent."""
        # Python notes the process of a running loop, or forgets the loop in a child.
        asyncio._set_running_loop(self)  # noqa: SLF001 - asyncio has no other way
        self._impatient.leave_kernel()
        # A child that shared the socket would take the calls of the parent's threads.
        self._close_self_pipe()
        self._make_self_pipe()
        # Its threads do not exist in the child.
        self._default_executor = None

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run a function in a thread; time does not pass until it returns.

        A function that only computes has returned before another callback of the loop runs.
        """
        has_begun = threading.Event()

        def run() -> T:
            # A function that returned before its future is ready would be reported in another way.
            has_begun.wait()
            return func(*args)

        self._thread_called.clear()
        # Counted on the loop, so that time cannot pass between the start and the count.
        future = super().run_in_executor(executor, run)
        owner = process.get()
        self._hold(owner, 1)
        future.add_done_callback(lambda _: self._hold(owner, -1))
        has_begun.set()
        # The loop goes on when the function has returned or calls the loop. Otherwise the order of events would depend
        # on the speed of the thread.
        self._thread_called.wait(_THREAD_SECONDS)
        return future

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Call a function in the loop, from any thread."""
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self._thread_called.set()
        return handle

    async def shutdown_default_executor(self, *timeout: float | None) -> None:
        """Wait for the threads of `run_in_executor`, without letting time pass."""
        self.hold()
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self.release()


class LoopClock:
    """A clock of embedded servers that follows the event loop: ``masthead.server.run(clock=LoopClock())``.

    It reads `start` at the creation of a virtual loop. Later servers may reuse it.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> datetime:
        """Return the time in UTC; in threads only after a first call on the event loop."""
        # Threads of the server have no running loop; they use the one that the clock has seen last.
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is None:
                raise
        return self._start + timedelta(seconds=_elapsed(self._loop))

    def call_later(self, seconds: float, call: Callable[[], object]) -> asyncio.TimerHandle:
        """Call a function once, after a number of seconds."""
        return asyncio.get_running_loop().call_later(seconds, call)

    def shift(self, seconds: float) -> None:
        """Set the wall clock forward, or back with a negative number.

        Timers are not affected.
        """
        self._start += timedelta(seconds=seconds)


@contextlib.contextmanager
def _rare_collections() -> Generator[None]:
    """Let Python collect garbage rarely: its default threshold costs a fifth of a short test."""
    thresholds = gc.get_threshold()
    # Not raised if the test has switched it off.
    if thresholds[0]:
        gc.set_threshold(max(thresholds[0], _COLLECTION_THRESHOLD), *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def run(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine in a new virtual loop."""
    with _rare_collections(), asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def in_virtual_time(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Decorate an async test to run in a new virtual loop."""

    @functools.wraps(test)
    def run_test(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs))

    return run_test


def now() -> float:
    """Return the virtual seconds since the test began."""
    return _elapsed(asyncio.get_running_loop())


def _elapsed(loop: asyncio.AbstractEventLoop) -> float:
    return loop.elapsed if isinstance(loop, VirtualLoop) else loop.time()
