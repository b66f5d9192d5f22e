"""The life cycle of an informer, which runs once.

::

    new ──start, run──> running ──stop, cancelled, client closed──> stopped
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._cache.informer import forks
from masthead._meta.object import Object
from masthead.errors import ClosedError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead._cache.informer.controller import InformerController
    from masthead._cache.informer.handler_registry import HandlerRegistry
    from masthead._cache.informer.pipeline import InformerPipeline
    from masthead._cache.informer.progress import Progress

__all__ = ["STOP_TIMEOUT", "InformerLifecycle"]

T = TypeVar("T", bound=Object)

_log: Final = logging.getLogger("masthead.cache")

STOP_TIMEOUT: Final = 10.0
"""Seconds that running calls of handlers have to return when an informer is stopped."""
_CANCEL_TIMEOUT: Final = 1.0


class InformerLifecycle(Generic[T]):
    """Starts an informer, runs it as a task, and stops it.

    Args:
        pipeline: Runs between start and stop.
        handlers: Ended with the informer.
        progress: Notified of the end.
        spawn: Starts the informer's task.
    """

    def __init__(
        self,
        pipeline: InformerPipeline[T],
        handlers: HandlerRegistry[T],
        progress: Progress,
        spawn: Callable[[Coroutine[None, None, None]], asyncio.Task[None]],
    ) -> None:
        self._pipeline = pipeline
        self._store = pipeline.store
        self._handlers = handlers
        self._progress = progress
        self._spawn = spawn
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._stopped = asyncio.Event()
        self._stop_timeout = STOP_TIMEOUT
        self._fork_problem = ""

    @property
    def is_stopped(self) -> bool:
        """Whether the informer has ended."""
        return self._stopped.is_set()

    @property
    def is_running(self) -> bool:
        """Whether the informer was started, and has not ended."""
        return self._task is not None and not self.is_stopped

    @property
    def fork_problem(self) -> str:
        """The error message in a process forked after the start; empty in the informer's own process."""
        return self._fork_problem

    async def run(self) -> None:
        """Start the informer, and wait for its end.

        Raises:
            InformerStateError: If it was started or stopped before.
        """
        self.start()
        try:
            await self.wait_ended()
        except asyncio.CancelledError:
            self.stop_nowait(_CANCEL_TIMEOUT)
            # Nothing of the informer may be left once run() has returned, even when cancelled.
            await self.wait_ended()
            raise

    def start(self) -> None:
        """Start the informer on the running event loop, without waiting for anything.

        Raises:
            InformerStateError: If it was started or stopped before.
        """
        self.check_startable()
        controller = self._pipeline.start()
        forks.note_running(self)
        task = self._task = self._spawn(self._live(controller))
        # A callback of the task, not a `finally` in it: a task cancelled before its first step runs no code.
        task.add_done_callback(self._finish)

    async def stop(self, timeout: float) -> None:
        """Stop the informer, and wait for its end; a handler of the informer does not wait.

        Raises:
            MutationError: If mutation detection is on, and has found some.
            Exception: If the informer has ended because of a defect.
        """
        self.stop_nowait(timeout)
        # A handler that stops its own informer cannot wait for its own return.
        if self._handlers.is_called_from_handler():
            return
        await self.wait_ended()
        self.check_mutations_at_end()

    def stop_nowait(self, timeout: float = STOP_TIMEOUT) -> None:
        """Stop the informer without waiting; on its event loop, or before the start."""
        self._stop_timeout = timeout
        self._stopping.set()
        self._handlers.detach()
        # An informer that was never started has no task whose end would do this.
        if self._task is None:
            self._finish()

    async def wait_ended(self) -> None:
        """Wait for the end of an informer that was started.

        Raises:
            Exception: If it has ended because of a defect.
        """
        if self._task is None:
            return
        # Unlike await, wait() does not cancel the task when the waiter is cancelled.
        await asyncio.wait({self._task})
        # The result of a cancelled task would raise CancelledError in a waiter that was not cancelled.
        if not self._task.cancelled():
            self._task.result()

    async def wait_for_stop(self) -> None:
        """Wait until the informer has stopped, whether it was started or not."""
        await self._stopped.wait()

    def check_mutations_at_end(self) -> None:
        """Compare all objects, if mutation detection is on.

        Raises:
            MutationError: If some were mutated.
        """
        self._store.check_mutations_if_enabled()

    def check_startable(self) -> None:
        """Check that the informer can be started.

        Raises:
            InformerStateError: If it was started or stopped before.
        """
        self.check_new("be started")

    def check_new(self, action: str) -> None:
        """Check that the informer is new.

        Args:
            action: The refused action, for the error.

        Raises:
            InformerStateError: If it was started or stopped before.
        """
        self._check_process()
        if self._pipeline.is_started or self._is_ending:
            state = "stopped" if self._is_ending else "started"
            raise InformerStateError(
                f"informer {self._pipeline.name} cannot {action} any more: it has been {state}; make a new one"
            )

    def check_started(self) -> None:
        """Check that the informer was started.

        Raises:
            InformerStateError: If it was not.
        """
        if self._task is None:
            raise InformerStateError(
                f"informer {self._pipeline.name} has not been started, so that there is nothing to wait for; start() "
                "it first"
            )

    def check_not_stopped(self, action: str) -> None:
        """Check that the informer has not been stopped.

        Args:
            action: The refused action, for the error.

        Raises:
            ClosedError: If it was.
            InformerStateError: If it runs in the parent process.
        """
        self._check_process()
        if self._is_ending:
            state = "has stopped" if self.is_stopped else "is being stopped"
            raise ClosedError(f"informer {self._pipeline.name} cannot {action} any more: it {state}; make a new one")

    def disown(self) -> None:
        """Refuse to be read: this is a forked process, and the informer runs in its parent."""
        self._fork_problem = (
            f"informer {self._pipeline.name} belongs to another process: it was started before this one was forked, "
            "and receives nothing here; make a client and its informers after the fork"
        )
        self._store.disown(self._fork_problem)

    @property
    def _is_ending(self) -> bool:
        return self._stopping.is_set() or self.is_stopped

    def _check_process(self) -> None:
        if self._fork_problem:
            raise InformerStateError(self._fork_problem)

    async def _live(self, controller: InformerController[T]) -> None:
        loop, name = asyncio.get_running_loop(), self._pipeline.name
        pump = loop.create_task(controller.run(), name=f"masthead {name}")
        stopping = loop.create_task(self._stopping.wait())
        detector = self._store.detector
        scanning = None if detector is None else self._spawn(detector.scan_periodically())
        try:
            await asyncio.wait({pump, stopping}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # A cancellation asks for an end soon, so handlers get less time than stop() would grant.
            self._stop_timeout = min(self._stop_timeout, _CANCEL_TIMEOUT)
            raise
        finally:
            self._stopping.set()
            tasks = {task for task in (pump, stopping, scanning) if task is not None}
            for task in tasks:
                task.cancel()
            # Before the handlers end: nothing new may reach them while the last calls return.
            await asyncio.wait(tasks)
            await self._handlers.end(self._stop_timeout)
        if not pump.cancelled() and (error := pump.exception()) is not None:
            # A closed client or queue ends an informer, and is no fault of it.
            if not isinstance(error, ClosedError):
                raise error
            _log.warning("informer %s ends: %s", name, error)

    def _finish(self, task: asyncio.Task[None] | None = None) -> None:
        """Release everything, and wake all waiters, whatever has ended the informer."""
        if task is not None and not task.cancelled() and (error := task.exception()) is not None:
            _log.error("informer %s ends, which is a defect of it", self._pipeline.name, exc_info=error)
        self._handlers.detach()
        self._stopped.set()
        # A stopped store does not change any more, so a forked process may read it.
        forks.forget_running(self)
        self._handlers.release()
        self._progress.notify()
