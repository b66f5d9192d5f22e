"""Coroutines that belong together: the first failure ends the others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

__all__ = ["run_all"]


async def run_all(
    *coroutines: Coroutine[object, None, object], aside: Iterable[Coroutine[object, None, object]] = ()
) -> None:
    """Run all to their ends, in a task group whose error is raised without the group.

    Args:
        coroutines: What to run.
        aside: A coroutine to run beside the others, cancelled when these have ended.

    Raises:
        BaseException: The error of the first failure. The others are cancelled, and have ended by then.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            helpers = [tasks.create_task(_run(coroutine)) for coroutine in aside]
            await asyncio.wait([tasks.create_task(_run(coroutine)) for coroutine in coroutines])
            for helper in helpers:
                helper.cancel()
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        return
    # Outside the except clause, so that it has no context.
    raise first.error if isinstance(first, _ExitRequestedError) else first


class _ExitRequestedError(Exception):
    """Carries an exception that would end the event loop with all of its tasks, if a task raised it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


async def _run(coroutine: Coroutine[object, None, object]) -> None:
    try:
        await coroutine
    except (SystemExit, KeyboardInterrupt) as error:
        raise _ExitRequestedError(error) from None
