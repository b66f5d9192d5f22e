"""The workers of a controller: tasks that reconcile one object at a time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._controller.stacks import describe_task

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Coroutine

    from masthead._controller.requests import Request

__all__ = ["WorkerTasks"]

MAX_SUBSTITUTES: Final = 10
"""Maximum number of substitutes for hanging workers. A hanging reconcile holds memory and locks."""
CANCEL_GRACE: Final = 5.0
"""Seconds that a coroutine has to end after the cancellation by its timeout."""
STUCK_AFTER: Final = 60.0
"""Seconds after which a coroutine that ignores its cancellation makes the process unhealthy."""


@dataclass(slots=True, eq=False)
class _Job:
    """A reconcile that a worker is running.

    Attributes:
        request: The object.
        task: The worker.
        began: Its start time.
        is_overdue: Whether it exceeded its time limit.
        hangs_since: The start time of its substitute; None if it has none.
    """

    request: Request
    task: asyncio.Task[object]
    began: float
    is_overdue: bool = False
    hangs_since: float | None = None

    def describe(self) -> str:
        """Name the object and the current line of its coroutine."""
        return describe_task(str(self.request), self.task)


class WorkerTasks:
    """Starts workers, and maintains their number.

    A worker that was ended by a reconcile is replaced. A worker whose reconcile hangs has a substitute until it
    returns, so that other objects do not wait: a thread cannot be cancelled, and a coroutine may ignore its
    cancellation.

    Args:
        name: The name of the controller.
        is_ending: Whether workers are expected to end.
        log: The controller's logger.
        timeout: Time limit of a reconcile in seconds; None for no limit.
        in_threads: Whether reconciles run in threads, which a timeout cannot cancel.
    """

    def __init__(
        self,
        name: str,
        is_ending: Callable[[], bool],
        log: logging.Logger,
        *,
        timeout: float | None,
        in_threads: bool,
    ) -> None:
        self._name = name
        self._work: Callable[[], Coroutine[None, None, None]] | None = None
        self._is_ending = is_ending
        self._log = log
        self._timeout = timeout
        self._in_threads = in_threads
        self._tasks: list[asyncio.Task[None]] = []
        # A coroutine gets time to handle its cancellation before it counts as hanging.
        self._limit = timeout if timeout is None or in_threads else timeout + CANCEL_GRACE
        self._jobs: dict[_Job, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._substitutes = 0
        self._surplus = 0

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The worker tasks; some may have ended just now."""
        return list(self._tasks)

    @property
    def problem(self) -> str:
        """The reason to restart the process; empty without one."""
        if self._substitutes >= MAX_SUBSTITUTES:
            return f"too many reconciles hang{' in threads' if self._in_threads else ''}"
        if self._in_threads:
            return ""
        now = asyncio.get_running_loop().time()
        stuck = [
            job.describe() for job in self._jobs if job.hangs_since is not None and now - job.hangs_since >= STUCK_AFTER
        ]
        return f"reconciles ignore their cancellation: {', '.join(stuck)}" if stuck else ""

    def start(self, count: int, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Start workers.

        Args:
            count: Their number.
            work: The coroutine function of a worker, which calls `may_leave` before each object.
        """
        self._work = work
        for number in range(count):
            self._start(f"masthead controller {self._name} worker {number}")

    def may_leave(self) -> bool:
        """Whether the calling worker is surplus and should end, because its substitute continues."""
        if not self._surplus:
            return False
        self._surplus -= 1
        return True

    def running(self) -> list[str]:
        """Describe the running reconciles, with the current line of their coroutines."""
        return [job.describe() for job in self._jobs]

    def begin(self, request: Request) -> _Job:
        """Record the request of the calling worker until `end`. If it hangs, a substitute is started."""
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        job = _Job(request, task, loop.time())
        self._jobs[job] = None
        # One timer for all jobs: most end long before, and a timer each would be a tenth of a reconcile's cost.
        if self._limit is not None and self._timer is None:
            self._timer = loop.call_later(self._limit, self._check_overdue)
        return job

    def end(self, job: _Job) -> None:
        """End a job. If its worker has a substitute, one worker becomes surplus."""
        del self._jobs[job]
        if job.hangs_since is not None:
            self._substitutes -= 1
            self._surplus += 1

    def _check_overdue(self) -> None:
        """Substitute the workers of overdue reconciles, and schedule the next check."""
        self._timer = None
        if self._limit is None or self._is_ending():
            return
        loop = asyncio.get_running_loop()
        for job in list(self._jobs):
            if not job.is_overdue and loop.time() - job.began >= self._limit:
                job.is_overdue = True
                self._substitute(job)
        waiting = [job.began for job in self._jobs if not job.is_overdue]
        if waiting:
            self._timer = loop.call_at(min(waiting) + self._limit, self._check_overdue)

    def _substitute(self, job: _Job) -> None:
        """Start a substitute for a worker whose reconcile hangs."""
        # The caller of a thread logs its timeout.
        if not self._in_threads:
            self._log.error(
                "controller %s: the reconcile of %s ignores the cancellation by its timeout of %g s; end it when it is "
                "cancelled. The object stays in flight until then.",
                self._name,
                job.describe(),
                self._timeout,
            )
        # Substitutes without a limit would hide a deadlock until memory runs out.
        if self._substitutes >= MAX_SUBSTITUTES:
            self._log.error(
                "controller %s: %d reconciles hang, and one more, which gets no substitute; restart the process",
                self._name,
                self._substitutes,
            )
            return
        job.hangs_since = asyncio.get_running_loop().time()
        self._substitutes += 1
        self._start(f"masthead controller {self._name} substitute {self._substitutes}")

    def _start(self, name: str) -> None:
        work = self._work
        assert work is not None
        task = asyncio.get_running_loop().create_task(work(), name=name)
        self._tasks.append(task)
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """Replace a worker that was ended by a reconcile, for example by cancelling its own task."""
        error = None if task.cancelled() else task.exception()
        # At the stop, workers end for good.
        if self._is_ending():
            if self._timer is not None:
                self._timer.cancel()
            return
        self._tasks.remove(task)
        if error is None and not task.cancelled():
            return  # its substitute continues
        self._log.error(
            "controller %s: a reconcile has %s, which is replaced",
            self._name,
            "cancelled its worker" if error is None else f"ended its worker by {type(error).__name__}",
        )
        self._start(task.get_name())
