"""One run of a probe, until it ends, times out or is cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server import eager
from masthead_server.clock import VirtualClock
from masthead_server.kubelet.probe_rules import ProbeOutcome
from masthead_server.process_activity import ITERATIONS_TO_PAUSE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead_server.clock import Timer
    from masthead_server.cluster import ClusterState
    from masthead_server.process_activity import ProcessObserver

__all__ = ["ProbeCheck", "ProbeRun"]

_PATIENCE: Final = 1.0
"""The real seconds that work outside of the event loop has in virtual time."""
_MAX_STEPS: Final = 1000
"""The number of pauses of a check that runs without a task; a longer check continues in a task."""


class ProbeCheck(NamedTuple):
    """What a probe does.

    Attributes:
        execute: Does it.
        on_timeout: The output after a timeout.
        is_script: Whether the built-in shell does it, and so nothing outside of the event loop.
        is_eager: Whether it may run without a task.
    """

    execute: Callable[[], Coroutine[object, object, ProbeOutcome]]
    on_timeout: str
    is_script: bool = False
    is_eager: bool = False


class ProbeRun:
    """Runs a check once.

    In virtual time, a script times out at the exact moment, if it has paused there. Other work gets a second of real
    time, because no thread and no connection gets anything done while the clock advances. `Server.wait_for_idle`
    waits for it.

    Args:
        cluster: The cluster state.
        check: What to do.
        observer: Observes the script or the handler.
        report: Called with the outcome, once, unless the run is cancelled.
    """

    def __init__(
        self,
        cluster: ClusterState,
        check: ProbeCheck,
        observer: ProcessObserver,
        report: Callable[[ProbeOutcome], None],
    ) -> None:
        self._cluster = cluster
        self._check = check
        self._observer = observer
        self._report = report
        self._is_over = False
        self._had_patience = False
        self._is_virtual = isinstance(cluster.clock, VirtualClock)
        self._running: asyncio.Future[None] | None = None
        self._timers: list[Timer] = []
        self._releases: list[Callable[[], None]] = []

    def start(self, timeout: float) -> asyncio.Future[None] | None:
        """Start the run, which ends after a timeout; return None if it has ended already."""
        loop, doing = asyncio.get_running_loop(), self._observer.observe(self._execute())
        running = eager.start(doing, pauses=_MAX_STEPS) if self._check.is_eager else loop.create_task(doing)
        if running.done():
            running.result()
            return None
        self._running = running
        self._timers.append(self._cluster.clock.call_later(timeout, self._expire))
        if self._is_virtual and not self._check.is_script:
            self._hold()
            self._timers.append(loop.call_later(_PATIENCE, self._end_patience))
        running.add_done_callback(lambda _: self._end())
        return running

    def cancel(self) -> None:
        """End the run without an outcome."""
        self._is_over = True
        self._end()
        if self._running is not None:
            self._running.cancel()

    async def _execute(self) -> None:
        outcome = await self._check.execute()
        if not self._is_over:
            self._is_over = True
            self._report(outcome)

    def _hold(self) -> None:
        """Let the server wait for this run."""
        self._releases.append(self._cluster.process_activity.hold(self._observer.name))

    def _end_patience(self) -> None:
        """The server has waited long enough; the run goes on until its timeout."""
        self._had_patience = True
        self._release()

    def _expire(self) -> None:
        """The timeout is over, on the server's clock."""
        # Without tasks, a script that waits has paused for sure: nothing but time will continue it.
        has_paused = self._check.is_script and self._check.is_eager and not self._observer.is_computing
        if not self._is_virtual or has_paused or self._had_patience:
            self._give_up()
            return
        self._hold()
        self._timers.append(asyncio.get_running_loop().call_later(_PATIENCE, self._give_up))
        if self._check.is_script:
            self._give_up_after_pause(self._observer.steps, ITERATIONS_TO_PAUSE)

    def _give_up_after_pause(self, steps: int, iterations: int) -> None:
        if self._is_over:
            return
        if not iterations:
            self._give_up()
            return
        left = iterations - 1 if self._observer.steps == steps else ITERATIONS_TO_PAUSE
        asyncio.get_running_loop().call_soon(self._give_up_after_pause, self._observer.steps, left)

    def _give_up(self) -> None:
        if self._is_over:
            return
        self.cancel()
        # Now rather than at the end of the task, so that the next run begins with its period.
        self._report(ProbeOutcome(is_success=False, output=self._check.on_timeout))

    def _end(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._release()

    def _release(self) -> None:
        for release in self._releases:
            release()
        self._releases.clear()
