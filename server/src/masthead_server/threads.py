"""Threads for long computations, so that other requests have their turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compute_in_thread"]

P = ParamSpec("P")
T = TypeVar("T")


async def compute_in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that only computes in a thread, with the context of the caller.

    In virtual time, it is called on the loop: the order in which threads end would differ from run to run.
    """
    if getattr(asyncio.get_running_loop(), "has_virtual_time", False):
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)
