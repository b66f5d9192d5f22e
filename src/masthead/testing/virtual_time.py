"""Time that passes only while everybody waits: for tests of whatever waits long.

::

    @in_virtual_time
    async def test_a_silent_watch_is_given_up() -> None:
        async with masthead.server.run(clock=LoopClock()) as server:
            ...                      # real sockets on loopback
            await asyncio.sleep(90)  # takes no time
            assert now() == 90.0

A `VirtualLoop` asks its sockets as any loop does. When none has anything, and nothing is left to do, its clock jumps to
the next moment at which something is to happen. All of a test must be in that one loop, the server included; a thread of
the loop's executor is waited for, and time stands still meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Executor
    from typing import TypeVarTuple

    Ts = TypeVarTuple("Ts")

__all__ = ["LoopClock", "VirtualLoop", "in_virtual_time", "now", "run"]

P = ParamSpec("P")
T = TypeVar("T")

_ON_ITS_WAY: Final = 0.0003
"""Real seconds in which what was written to a loopback socket arrives. The kernel nearly always hands it over at once;
where it does not, time passes while it is on its way, as in any network."""
_TO_BE_SURE: Final = 5.0
"""Real seconds without anything to wait for, after which nothing will ever come."""


_RESOLUTION: Final = 1e-6


class _VirtualSelector(selectors.SelectSelector):
    """Hardly ever waits: where it should, it notes that the time has passed.

    Attributes:
        now: What time it is.
        at_work: How many threads do something for the loop.
    """

    now = 0.0
    at_work = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if self.at_work:
            return super().select(None)
        # One socket is the loop's own, by which threads wake it.
        has_sockets = len(self.get_map()) > 1
        if timeout is not None:
            ready = super().select(_ON_ITS_WAY) if has_sockets else []
            self.now += 0.0 if ready else timeout
            return ready
        is_alone = not has_sockets and threading.active_count() == 1
        # Alone or not: a thread may have woken the loop and ended since the first look.
        ready = super().select(0 if is_alone else _TO_BE_SURE)
        if not ready:
            raise RuntimeError("everybody waits for something that will never come")
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock begins at 0, and jumps to the next moment at which something is to happen."""

    def __init__(self) -> None:
        self._impatient = _VirtualSelector()
        super().__init__(self._impatient)
        # By default a nanosecond; after a few weeks, a number that large has no room for those.
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        """The seconds since the loop was made."""
        return self._impatient.now

    def advance(self, seconds: float) -> None:
        """Let time pass at once, as for a machine that was asleep: what falls due meanwhile is late.

        Raises:
            ValueError: If time would go back.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: cannot advance by {seconds} seconds")
        self._impatient.now += seconds

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Do something in a thread; time stands still until it is done."""
        future = super().run_in_executor(executor, func, *args)
        self._impatient.at_work += 1
        future.add_done_callback(self._note_done)
        return future

    async def shutdown_default_executor(self, *timeout: float | None) -> None:
        """Wait for the threads of `run_in_executor` to end; time stands still until they have."""
        self._impatient.at_work += 1
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self._impatient.at_work -= 1

    def _note_done(self, _: asyncio.Future[T]) -> None:
        self._impatient.at_work -= 1


class LoopClock:
    """The clock of an embedded server that goes by the time of the loop that it runs in, virtual or not.

    ``masthead.server.run(clock=LoopClock())``; for one server after the other, too.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start

    def now(self) -> datetime:
        """The time in UTC."""
        return self._start + timedelta(seconds=now())

    def call_later(self, seconds: float, call: Callable[[], object]) -> asyncio.TimerHandle:
        """Call back once, when so many seconds have passed."""
        return asyncio.get_running_loop().call_later(seconds, call)

    def shift(self, seconds: float) -> None:
        """Set it forward, or back with a negative number, as somebody does to a clock that is wrong.

        What is to happen in so many seconds does so all the same.
        """
        self._start += timedelta(seconds=seconds)


def run(main: Coroutine[object, object, T]) -> T:
    """Run something in a loop of its own, in no time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def in_virtual_time(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Make of an async test a plain one, which runs in a loop of its own, in no time."""

    @functools.wraps(test)
    def in_no_time(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs))

    return in_no_time


def now() -> float:
    """The seconds since the test began."""
    return asyncio.get_running_loop().time()
