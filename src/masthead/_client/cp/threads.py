"""Local files are read and written in threads, because disks may block."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from masthead.errors import CopyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_thread"]

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], /, *args: P.args, **options: P.kwargs) -> R:
    """Run a function in a thread, and wait for its end even if cancelled: nothing else may use the same file before.

    Raises:
        CopyError: In place of an OSError; it names the file.
        Exception: Whatever else it raises.
    """
    running = asyncio.get_running_loop().run_in_executor(None, partial(function, *args, **options))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        running.exception()  # or asyncio would complain that it was never retrieved
        raise cancelled
    try:
        return running.result()
    except OSError as error:
        path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        problem = error.strerror or str(error)
        raise CopyError(f"{path!r}: {problem}" if path else problem, path=path) from error
