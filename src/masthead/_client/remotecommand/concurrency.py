"""Coroutines that belong together: the first one that fails ends the others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["run_all"]


async def run_all(*coroutines: Coroutine[object, None, object]) -> None:
    """Run all to their ends, in a task group whose error is raised by itself.

    Raises:
        Exception: What the first one that fails has raised. The others are cancelled, and have ended by then.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            for each in coroutines:
                tasks.create_task(each)
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        return
    raise first  # outside the except clause, so that it has no context
