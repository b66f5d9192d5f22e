"""Repeats a small request until it is answered."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, TypeVar

from masthead.errors import DeadlineError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["first_answer"]

T = TypeVar("T")


async def first_answer(
    request: Callable[[], Coroutine[object, object, T]],
    *,
    repeat_after: float,
    timeout: float,
    on_late: Callable[[float], None],
) -> T:
    """Send a request repeatedly, each time on another connection, and return the first answer.

    Earlier requests stay open. So a slow answer still counts, and a request that was lost on the way costs no more than
    the interval. The first error ends the repetition; a timeout does so only for the first request.

    Args:
        request: Sends the request, which must fail after `timeout` seconds without an answer.
        repeat_after: Seconds between repetitions.
        timeout: Seconds of repetition.
        on_late: Called with the elapsed seconds before each repetition.

    Raises:
        MastheadError: If a request fails before any is answered.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    # Not in a TaskGroup, which would wrap the error of the first request that fails. All of them end here.
    tasks = [loop.create_task(request())]
    pending = set(tasks)
    repetitions = max(0, math.ceil(timeout / repeat_after) - 1)
    try:
        while True:
            done, pending = await asyncio.wait(
                pending,
                timeout=repeat_after if repetitions else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in done:
                # A repetition may time out early, where a rate limit would delay it beyond its deadline.
                if task is tasks[0] or not isinstance(task.exception(), DeadlineError):
                    return task.result()
            if not done:
                repetitions -= 1
                on_late(loop.time() - began)
                tasks.append(loop.create_task(request()))
                pending.add(tasks[-1])
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
