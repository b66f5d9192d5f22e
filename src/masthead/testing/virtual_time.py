"""Virtual time: an event loop whose clock jumps when all tasks wait, for tests of long timeouts.

::

    @in_virtual_time
    async def test_a_silent_watch_is_given_up() -> None:
        async with masthead.server.run(clock=LoopClock()) as server:
            ...                      # real sockets on loopback
            await asyncio.sleep(90)  # takes no time
            assert now() == 90.0

A `VirtualLoop` polls its sockets like any event loop. When no socket is ready and no callback is due, its clock jumps to
the next timer. The whole test must run in this loop, the server included. Threads of the loop's executor are awaited,
and time stands still meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import threading
from collections import deque
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from concurrent.futures import Executor
    from contextvars import Context
    from typing import TypeVarTuple

    Ts = TypeVarTuple("Ts")

__all__ = ["LoopClock", "VirtualLoop", "in_virtual_time", "now", "process", "run"]

P = ParamSpec("P")
T = TypeVar("T")

_ON_ITS_WAY: Final = 0.0003
"""Real seconds until data written to a loopback socket arrives. The kernel nearly always delivers it at once; if it does
not, virtual time passes meanwhile, as in any network."""
_SUSPENDED: Final = 0.5
"""Real seconds that a thread has to come back while a process is suspended, before time goes on without it."""
_TO_BE_SURE: Final = 5.0
"""Real seconds without a timer or a ready socket, after which the loop is deadlocked."""


_RESOLUTION: Final = 1e-6
_DIGITS: Final = 6
"""The digits behind the point of elapsed seconds; sums of floats are inexact beyond."""
START: Final = 10_000_000.0
"""Where the clock of a virtual loop starts: at the uptime of a machine after 116 days.

Event loops' clocks never start at 0, and code that takes 0 for "not yet" or "long ago" would pass its tests.
"""


class _VirtualSelector(selectors.SelectSelector):
    """Advances the virtual clock instead of waiting.

    Attributes:
        now: The virtual time.
        at_work: The number of running executor threads; time stands still if there are some.
        has_suspended: Whether a process is suspended.
        idlers: Who waits until all tasks wait, and for how many turns of the loop at most.
        counters: Who waits for a number of turns, and how many are left.
    """

    at_work = 0
    has_suspended = False

    def __init__(self, start: float) -> None:
        super().__init__()
        self.now = start
        self.idlers: dict[asyncio.Future[bool], int] = {}
        self.counters: dict[asyncio.Future[bool], int] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        is_counted = any([_count_turn(self.idlers), _count_turn(self.counters)])
        if ready or timeout == 0 or is_counted:
            return ready
        # One socket is the loop's own, which threads use to wake it.
        has_sockets = len(self.get_map()) > 1
        if self.idlers and not self.at_work:
            ready = super().select(_ON_ITS_WAY) if has_sockets else []
            if not ready:
                self._resolve_idlers()
            return ready
        if self.at_work:
            # A thread of a suspended process may wait for its loop, which goes on only if time does.
            ready = super().select(_SUSPENDED if self.has_suspended and timeout is not None else None)
            self.now += 0.0 if ready else timeout or 0.0
            return ready
        if timeout is not None:
            ready = super().select(_ON_ITS_WAY) if has_sockets else []
            self.now += 0.0 if ready else timeout
            return ready
        is_alone = not has_sockets and threading.active_count() == 1
        # Poll again in any case: a thread may have woken the loop and ended since the first poll.
        ready = super().select(0 if is_alone else _TO_BE_SURE)
        if not ready:
            raise RuntimeError("deadlock: all tasks wait, and no timer is set")
        return ready

    def _resolve_idlers(self) -> None:
        idlers = list(self.idlers)
        self.idlers.clear()
        for idler in idlers:
            _resolve(idler, is_idle=True)


def _count_turn(waiting: dict[asyncio.Future[bool], int]) -> bool:
    """Count a turn, and wake those who have waited for all of theirs; returns whether there are some."""
    woken = False
    for future, turns in list(waiting.items()) if waiting else ():
        waiting[future] = turns - 1
        if turns <= 0:
            del waiting[future]
            _resolve(future, is_idle=False)
            woken = True
    return woken


def _resolve(idler: asyncio.Future[bool], *, is_idle: bool) -> None:
    if not idler.done():
        idler.set_result(is_idle)


process: Final[ContextVar[object]] = ContextVar("masthead.testing.process", default=None)
"""What a task belongs to, so that all tasks that it starts can be frozen with it; see `VirtualLoop.freeze`."""


class _ReadyQueue(deque[asyncio.Handle]):
    """The callbacks that are ready. Those of a frozen process are set aside.

    Attributes:
        frozen: The frozen processes, and their callbacks.
    """

    def __init__(self, handles: Iterable[asyncio.Handle] = ()) -> None:
        super().__init__(handles)
        self.frozen: dict[object, list[asyncio.Handle]] = {}
        # The loop skips what is cancelled.
        self._nothing = cast("asyncio.Handle", SimpleNamespace(_cancelled=True))

    def popleft(self) -> asyncio.Handle:
        handle = super().popleft()
        if self.frozen and (set_aside := self.frozen.get(_process_of(handle))) is not None:
            set_aside.append(handle)
            return self._nothing
        return handle


def _process_of(handle: asyncio.Handle | None) -> object:
    context: Context | None = getattr(handle, "_context", None)
    return None if context is None else context.get(process)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer.

    Args:
        start: Where its clock starts; the same large number for every loop by default, as no machine has just been started.
    """

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, start: float = START) -> None:
        self._start = start
        self._impatient = _VirtualSelector(start)
        super().__init__(self._impatient)
        self._ready = _ReadyQueue()
        self._unplugged: dict[object, list[selectors.SelectorKey]] = {}
        # The default is a nanosecond, which a float cannot represent after a few weeks of virtual time.
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        """Return the seconds of the clock."""
        return self._impatient.now

    @property
    def elapsed(self) -> float:
        """The seconds since the loop was created, to the microsecond."""
        return round(self._impatient.now - self._start, _DIGITS)

    def advance(self, seconds: float) -> None:
        """Advance the clock at once, as after a machine's sleep: timers that expire meanwhile run late.

        Raises:
            ValueError: If time would go back.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: cannot advance by {seconds} seconds")
        self._impatient.now += seconds

    async def until_idle(self, turns: int = 10_000) -> bool:
        """Wait until all other tasks wait for time to pass. No time passes meanwhile.

        Args:
            turns: The number of turns of the loop after which it counts as busy for ever.

        Returns:
            Whether all tasks wait; False after so many turns.
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
        """When the next timer expires; None if there is none."""
        # asyncio keeps cancelled timers until they expire or become too many.
        return min((each.when() for each in self._scheduled if not each.cancelled()), default=None)

    def hold(self) -> None:
        """Let time stand still while all tasks wait, until `release` is called as often: another thread is at work."""
        self._impatient.at_work += 1

    def release(self) -> None:
        """End a `hold`."""
        self._impatient.at_work -= 1

    def freeze(self, frozen: object) -> None:
        """Let nothing of a process run until `thaw`, as if its machine were suspended. Time goes on for the others.

        Args:
            frozen: The value of `process` in the context of its tasks.
        """
        self._ready.frozen.setdefault(frozen, [])
        sockets = [
            key for key in self._impatient.get_map().values() if any(_process_of(h) is frozen for h in key.data or ())
        ]
        for key in sockets:
            self._impatient.unregister(key.fileobj)
        self._unplugged[frozen] = sockets
        self._impatient.has_suspended = True

    def thaw(self, frozen: object) -> None:
        """Let a process go on: whatever has become due meanwhile runs now."""
        for key in self._unplugged.pop(frozen, ()):
            self._impatient.register(key.fileobj, key.events, key.data)
        self._ready.extend(self._ready.frozen.pop(frozen, ()))
        self._impatient.has_suspended = bool(self._unplugged)

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run a function in a thread; time stands still until it returns."""
        future = super().run_in_executor(executor, func, *args)
        self._impatient.at_work += 1
        future.add_done_callback(self._note_done)
        return future

    async def shutdown_default_executor(self, *timeout: float | None) -> None:
        """Wait for the threads of `run_in_executor`; time stands still meanwhile."""
        self._impatient.at_work += 1
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self._impatient.at_work -= 1

    def _note_done(self, _: asyncio.Future[T]) -> None:
        self._impatient.at_work -= 1


class LoopClock:
    """A clock for an embedded server that follows the time of its event loop, virtual or not.

    It shows `start` when a virtual loop is created.

    ``masthead.server.run(clock=LoopClock())``; it may be reused for a later server.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> datetime:
        """Return the time in UTC; also in a thread, once it was asked in the event loop."""
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


def run(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine in a virtual loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def in_virtual_time(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Decorate an async test to run in a virtual loop of its own."""

    @functools.wraps(test)
    def run_test(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs))

    return run_test


def now() -> float:
    """Return the virtual seconds since the test began."""
    return _elapsed(asyncio.get_running_loop())


def _elapsed(loop: asyncio.AbstractEventLoop) -> float:
    return loop.elapsed if isinstance(loop, VirtualLoop) else loop.time()
