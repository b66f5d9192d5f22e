"""Runs the controllers, sources and timers of a manager during one term."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from masthead._controller.reconcile_loop import ReconcileLoop
from masthead._controller.sources import SOURCE_TASK_PREFIX, start_sources
from masthead._controller.stacks import describe_task
from masthead._controller.timers import TIMER_TASK_PREFIX, drain_timers, start_timers
from masthead._controller.user_errors import FailureLog, describe_error, with_user_frames
from masthead._leaderelection.leadership import WorkAbandonedError
from masthead._rest.call_guard import CallGuard, call_guard
from masthead._sansio.backoff import Backoff
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from masthead._controller.controller import Controller
    from masthead._controller.controller_services import ControllerServices
    from masthead._controller.manager import Manager
    from masthead._controller.thread_runner import ThreadRunner
    from masthead._controller.user_errors import RepeatedFailure
    from masthead._sansio.own_writes import OwnWrite

__all__ = ["ControllerRunner", "wait_ended"]

_log: Final = logging.getLogger("masthead.controller")
_CANCEL_TIMEOUT: Final = 2.5
"""Seconds that cancelled reconciles have to end when the process is asked to stop. With `_CALL_TIMEOUT` and the
patience of `run_main` it is less than the five seconds after the graceful timeout that the documents promise."""
_CALL_TIMEOUT: Final = 0.5
"""Seconds that the last calls of abandoned reconciles have to end."""


class ControllerRunner:
    """Runs controllers, sources and timers, one term at a time.

    Args:
        manager: The declared controllers, sources and timers.
        threads: Creates the threads of a term.
        make_services: Creates the services of a term.
        graceful_timeout: Seconds that running reconciles and timers have to finish after `stopping`.
        stopping: Set when the manager is asked to stop.

    Attributes:
        loops: The running controllers by name; empty between terms.
        failures: Failing functions of the user, except reconciles and mappers.
        idle: Set between terms.
    """

    def __init__(
        self,
        manager: Manager,
        threads: Callable[[], ThreadRunner],
        make_services: Callable[[ThreadRunner], ControllerServices],
        *,
        graceful_timeout: float,
        stopping: asyncio.Event,
    ) -> None:
        self.loops: Final[dict[str, ReconcileLoop]] = {}
        self.failures: Final = FailureLog()
        self.idle: Final = asyncio.Event()
        self.idle.set()
        self._manager = manager
        self._threads = threads
        self._make_services = make_services
        self._graceful_timeout = graceful_timeout
        self._stopping = stopping
        self._sources: set[asyncio.Task[None]] = set()
        self._term: tuple[CallGuard, ThreadRunner] | None = None
        self._is_paused = False
        self._unseen: dict[str, Sequence[OwnWrite]] = {}

    async def run(self) -> None:
        """Run one term until `stopping` is set. If cancelled, end without finishing reconciles.

        Raises:
            WorkAbandonedError: If cancelled work does not end.
        """
        self.idle.clear()
        try:
            async with self._threads() as threads:
                await self._run_term(threads)
        finally:
            self.idle.set()

    def pause(self) -> None:
        """Start no reconcile until `resume`; running ones finish."""
        self._is_paused = True
        for loop in self.loops.values():
            loop.pause()

    def resume(self) -> None:
        """Start reconciles again."""
        self._is_paused = False
        for loop in self.loops.values():
            loop.resume()

    def abandon(self) -> None:
        """Refuse all calls of the current term at once, also those of its threads: the process counts as dead."""
        if self._term is not None:
            guard, threads = self._term
            guard.revoke()
            threads.abandon()

    def serves_thread(self, task: asyncio.Task[None]) -> bool:
        """Whether a task runs a client call of a thread, which waits for it."""
        return self._term is not None and self._term[1].serves(task)

    async def _run_term(self, threads: ThreadRunner) -> None:
        services = self._make_services(threads)
        # Inherited by every task of this term.
        guard = CallGuard(services.may_work)
        call_guard.set(guard)
        self._term = guard, threads
        timers = start_timers(self._manager.timers, services, self._stopping)
        create_task = asyncio.get_running_loop().create_task
        tasks = [create_task(self._run_controller(controller, services)) for controller in self._manager.controllers]
        tasks += timers
        try:
            await self._stopping.wait()
            await asyncio.gather(self._drain(), drain_timers(timers, self._graceful_timeout))
        finally:
            # Cancel all before waiting for any, so that they end at the same time.
            for task in tasks:
                task.cancel()
            # Threads cannot be cancelled, but their next client call fails.
            threads.revoke()
            try:
                await self._wait_cancelled(tasks, guard, threads)
            finally:
                self.loops.clear()

    async def _run_controller(self, controller: Controller[Any], services: ControllerServices) -> None:
        """Run a controller until cancelled. A failed start is retried and does not affect other controllers."""
        backoff = Backoff(first=1.0, cap=60.0)
        while True:
            loop: ReconcileLoop | None = None
            sources: list[asyncio.Task[None]] = []
            try:
                loop = ReconcileLoop(controller, services, self._unseen.get(controller.name, ()))
                # Before the start, so that probes and `pending_work` see a controller that waits for its caches.
                self.loops[controller.name] = loop
                if self._is_paused:
                    loop.pause()
                await loop.start()
                self.failures.clear(_start_label(controller.name))
                specs = [source for source in self._manager.sources if source.controller is controller]
                sources = start_sources(specs, services, loop)
                self._sources.update(sources)
                await asyncio.Event().wait()
            except ClosedError:
                # Informers stop only with the client or the manager.
                await self._stopping.wait()
            except Exception as error:  # noqa: BLE001 - other controllers go on
                self.failures.add(_start_label(controller.name), error)
                delay = backoff.next(asyncio.get_running_loop().time(), services.random)
                _log.error(
                    "controller %s could not be started; it is tried again in %.0f s: %s",
                    controller.name,
                    delay,
                    describe_error(error),
                    exc_info=with_user_frames(error),
                )
                await asyncio.sleep(delay)
            finally:
                for task in sources:
                    task.cancel()
                # Stop the loop before waiting for the sources, because one of them may ignore its cancellation.
                if loop is not None:
                    self._unseen[controller.name] = await loop.stop()
                await wait_ended(sources)
                self._sources.difference_update(sources)

    async def _drain(self) -> None:
        """Let running reconciles finish."""
        timeout = self._graceful_timeout
        results = await asyncio.gather(*(loop.drain(timeout) for loop in self.loops.values()))
        if not all(results):
            _log.warning(
                "reconciles are cancelled that took longer than %g s to finish: %s",
                timeout,
                self.describe_reconciles(),
            )

    async def _wait_cancelled(
        self, tasks: Sequence[asyncio.Task[None]], guard: CallGuard, threads: ThreadRunner
    ) -> None:
        """Wait for cancelled tasks to end; with a time limit once the process is asked to stop.

        Raises:
            WorkAbandonedError: If they have not ended in time.
        """
        # No time limit before that: a replica that lost the lease must not campaign while work of its term is running.
        busy = await _wait_ended_or_set(tasks, self._stopping)
        if busy:
            _, busy = await asyncio.wait(busy, timeout=_CANCEL_TIMEOUT)
        if busy:
            work = ", ".join(self._describe_work(busy)) or "none"
            _log.error("reconciles, sources or timers go on although they were cancelled, and are abandoned: %s", work)
            # From now on, no new request of the abandoned work is sent.
            guard.revoke()
            is_idle = await guard.wait_for_idle(_CALL_TIMEOUT)
            # A thread cannot be stopped before the process ends, and may act without this client.
            raise WorkAbandonedError(work, may_act=threads.is_busy or not is_idle)

    def _describe_work(self, tasks: Collection[asyncio.Task[None]]) -> list[str]:
        reconciles = [f"{name} {work}" for name, loop in self.loops.items() for work in loop.running()]
        return reconciles + _describe_background([*tasks, *self._sources])

    def describe_reconciles(self) -> str:
        """Name the reconciles in flight."""
        flights = [
            f"{name} {flight.request}" for name, loop in list(self.loops.items()) for flight in loop.requests.flights
        ]
        return ", ".join(flights) or "none"

    def pending_work(self, retries_within: float) -> list[str]:
        """Describe the remaining work of all controllers; see `ReconcileLoop.pending_work`."""
        failures = self.failures.failing()
        lines: list[str] = []
        for controller in self._manager.controllers:
            name = controller.name
            if failure := failures.get(_start_label(name)):
                lines.append(f"controller {name} cannot be started, and is tried again: {failure}")
            elif name in self.loops:
                lines += self.loops[name].pending_work(retries_within)
            else:
                lines.append(f"controller {name} does not run")
        return lines

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the failing functions of the user, by controller and object, or by name."""
        reconciles = {
            f"{name} {key}": failure for name, loop in self.loops.items() for key, failure in loop.failing().items()
        }
        return reconciles | self.failures.failing()


def _start_label(controller: str) -> str:
    """Return the name of a controller's start in the log of failures."""
    return f"start of controller {controller}"


def _describe_background(tasks: Iterable[asyncio.Task[None]]) -> list[str]:
    """Name the running timers and sources among tasks, with the current line of their coroutines."""
    return sorted(
        describe_task(task.get_name(), task)
        for task in tasks
        if task.get_name().startswith((TIMER_TASK_PREFIX, SOURCE_TASK_PREFIX)) and not task.done()
    )


async def wait_ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait for tasks to end."""
    if tasks:
        await asyncio.wait(tasks)


async def _wait_ended_or_set(tasks: Sequence[asyncio.Task[None]], event: asyncio.Event) -> set[asyncio.Task[None]]:
    """Wait for tasks to end, or for an event; return the tasks that have not ended."""
    busy = set(tasks)
    waiting = asyncio.get_running_loop().create_task(_wait_set(event))
    try:
        while busy and not waiting.done():
            done, _ = await asyncio.wait({waiting, *busy}, return_when=asyncio.FIRST_COMPLETED)
            busy -= done
    finally:
        waiting.cancel()
    return busy


async def _wait_set(event: asyncio.Event) -> None:
    await event.wait()
