"""The workers of a controller: tasks that each reconcile one object at a time."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Coroutine, Generator
    from contextlib import AbstractContextManager

__all__ = ["WorkerTasks"]

MOST_SUBSTITUTES: Final = 10
"""How many threads of a controller may hang before it has fewer workers: each keeps its memory, and what it has locked."""

_NEVER: Final = contextlib.nullcontext()


class WorkerTasks:
    """Starts workers, and sees to it that there are as many as there should be.

    A worker that a reconcile has ended is replaced. One that waits for a thread which is overdue has a substitute until the
    thread returns: threads cannot be cancelled, and other objects must not wait for it.

    Args:
        name: The name of the controller.
        work: What a worker runs: it asks `may_leave` before each object.
        is_ending: Whether workers are expected to end.
        log: The controller's logger.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], Coroutine[None, None, None]],
        is_ending: Callable[[], bool],
        log: logging.Logger,
    ) -> None:
        self._name = name
        self._work = work
        self._is_ending = is_ending
        self._log = log
        self._tasks: list[asyncio.Task[None]] = []
        self._substitutes = 0
        self._surplus = 0

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """Those that have not ended, or not long ago."""
        return list(self._tasks)

    @property
    def is_stuck(self) -> bool:
        """Whether so many threads hang that further ones would have no substitute."""
        return self._substitutes >= MOST_SUBSTITUTES

    def start(self, count: int) -> None:
        """Start workers."""
        for number in range(count):
            self._start(f"masthead controller {self._name} worker {number}")

    def may_leave(self) -> bool:
        """Whether there is one worker too many, so that the caller should end: its substitute goes on."""
        if not self._surplus:
            return False
        self._surplus -= 1
        return True

    def substituted_after(self, seconds: float | None) -> AbstractContextManager[None]:
        """While the block takes longer than this, another worker runs in place of the caller; None for never."""
        return _NEVER if seconds is None else self._substituted_after(seconds)

    @contextlib.contextmanager
    def _substituted_after(self, seconds: float) -> Generator[None]:
        is_substituted = False

        def substitute() -> None:
            nonlocal is_substituted
            is_substituted = self._substitute()

        timer = asyncio.get_running_loop().call_later(seconds, substitute)
        try:
            yield
        finally:
            timer.cancel()
            if is_substituted:
                self._substitutes -= 1
                self._surplus += 1

    def _substitute(self) -> bool:
        if self._is_ending():
            return False
        if self.is_stuck:
            self._log.error(
                "controller %s: %d reconciles hang in threads, and one more, which gets no substitute; restart the process",
                self._name,
                self._substitutes,
            )
            return False
        self._substitutes += 1
        self._start(f"masthead controller {self._name} substitute {self._substitutes}")
        return True

    def _start(self, name: str) -> None:
        task = asyncio.get_running_loop().create_task(self._work(), name=name)
        self._tasks.append(task)
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """Replace a worker that a reconcile has ended, as by cancelling the task that it runs in."""
        error = None if task.cancelled() else task.exception()
        if self._is_ending():
            return
        self._tasks.remove(task)
        if error is None and not task.cancelled():
            return  # its substitute has stayed
        self._log.error(
            "controller %s: a reconcile has %s, which is replaced",
            self._name,
            "cancelled its worker" if error is None else f"ended its worker by {type(error).__name__}",
        )
        self._start(task.get_name())
