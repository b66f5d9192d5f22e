"""Background commands of a shell."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

__all__ = ["BackgroundJobs"]

_MAX_FINISHED: Final = 256
"""Commands whose exit codes are remembered."""


class BackgroundJobs:
    """The background commands of a shell; those of its subshells end with it.

    Args:
        parent: The jobs of the shell that has started this one.
    """

    def __init__(self, parent: BackgroundJobs | None = None) -> None:
        self.everywhere: set[asyncio.Task[int]] = set() if parent is None else parent.everywhere
        """The jobs of the outermost shell and all its subshells."""
        self._own: dict[int, asyncio.Task[int]] = {}
        self.last: int = 0 if parent is None else parent.last
        """The process id of the last one; 0 for none."""

    def start(self, number: int, job: Coroutine[Any, Any, int]) -> None:
        """Start a command as a process with an id."""
        task = asyncio.get_running_loop().create_task(job)
        self.last = number
        self._own[number] = task
        self.everywhere.add(task)
        task.add_done_callback(self.everywhere.discard)
        # A shell may start commands for ever.
        if len(self._own) > _MAX_FINISHED and (
            oldest := next((key for key, job in self._own.items() if job.done()), 0)
        ):
            del self._own[oldest]

    def running(self, wanted: list[int]) -> list[asyncio.Task[int]]:
        """Return the tasks of commands of this shell, by process id; all without ids."""
        return [task for number, task in self._own.items() if not wanted or number in wanted]

    def numbers(self) -> list[int]:
        """Return the process ids of the commands of this shell, in the order of their start."""
        return list(self._own)

    def status_of(self, number: int) -> int | None:
        """Return the exit code of a finished command; None for another process id."""
        task = self._own.get(number)
        return task.result() if task is not None and task.done() and not task.cancelled() else None

    def close(self) -> None:
        """End all commands."""
        for task in tuple(self.everywhere):
            task.cancel()
