"""Runs a program's event loop, and does not wait forever for tasks that ignore their cancellation."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from masthead._controller.stacks import describe_task
from masthead.errors import DeadlineError

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["StopTimeoutError", "run_main"]

_log: Final = logging.getLogger("masthead.controller")
_left_behind: Final[list[asyncio.Task[Any]]] = []
"""Tasks that ignore their cancellation; garbage collection would resume them in a closed loop."""


class StopTimeoutError(DeadlineError):
    """A manager stopped although some of its work continues."""


def run_main(main: Coroutine[object, None, None], *, patience: float = 0.5) -> None:
    """Run a coroutine in a new event loop, as ``asyncio.run`` does, but with a time limit for remaining tasks.

    Args:
        main: The coroutine.
        patience: Seconds that remaining tasks have to end after their cancellation.

    Raises:
        BaseException: Whatever the coroutine raises.
    """
    runner = asyncio.Runner()
    try:
        runner.run(main)
    finally:
        stubborn = runner.run(_cancel_others(patience))
        if stubborn:
            _log.error("left behind at the end: %s", ", ".join(stubborn))
            # Not `runner.close`, which would wait for the tasks.
            runner.get_loop().close()
            asyncio.set_event_loop(None)
        else:
            runner.close()


async def _cancel_others(patience: float) -> list[str]:
    """Cancel all other tasks of the loop; return the tasks that ignore it."""
    others: set[asyncio.Task[Any]] = asyncio.all_tasks() - {asyncio.current_task()}
    if not others:
        return []
    for task in others:
        task.cancel()
    _, stubborn = await asyncio.wait(others, timeout=patience)
    _left_behind.extend(stubborn)
    return sorted(describe_task(task.get_name(), task) for task in stubborn)
