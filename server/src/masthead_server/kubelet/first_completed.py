"""Runs coroutines until the first of them ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["until_first_ends"]


async def until_first_ends(*work: Coroutine[object, object, object]) -> None:
    """Run coroutines together until one of them ends, and cancel the others.

    Raises:
        Exception: Raised by the first to end.
    """
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]  # noqa: TID251 - none of them outlives this function
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Also when this coroutine is cancelled: none may outlive it.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
