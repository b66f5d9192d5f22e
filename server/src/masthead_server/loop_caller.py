"""Calls into the event loop of a server, from any thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING, Any, TypeVar

from masthead._meta.forks import loop_process
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead_server.eager import BackgroundTasks

__all__ = ["LoopCaller"]

ResultT = TypeVar("ResultT")


class LoopCaller:
    """Runs functions in the running event loop, whatever the thread of the caller.

    Attributes:
        loop: The event loop.
        has_stopped: Whether the server has stopped.
    """

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.has_stopped: bool = False
        self._process = loop_process()

    def is_own_thread(self) -> bool:
        """Tell whether the caller runs in the event loop."""
        try:
            return asyncio.get_running_loop() is self.loop
        except RuntimeError:  # no loop runs in this thread
            return False

    def check_running(self) -> None:
        """Make sure that the server runs in this process.

        Raises:
            ClosedError: If it does not.
        """
        if self._process != loop_process():
            raise ClosedError("the server runs in the process that this one was forked from; use it there")
        if self.has_stopped:
            raise ClosedError("the server has stopped: this is only for the block that it runs in")

    def call(self, act: Callable[[], ResultT]) -> ResultT:
        """Call in the event loop's thread, whatever the thread of the caller.

        Raises:
            ClosedError: If the server has stopped.
        """
        self.check_running()
        # In the loop's own thread, waiting for the loop would never end.
        if self.is_own_thread():
            return act()

        async def do() -> ResultT:
            return act()

        doing = asyncio.run_coroutine_threadsafe(do(), self.loop)
        try:
            return doing.result()
        except concurrent.futures.CancelledError:
            raise ClosedError("the server stopped before this was done") from None

    def read(self, act: Callable[[], ResultT]) -> ResultT:
        """Call in the event loop's thread; once the server has stopped, in this thread."""
        return act() if self.has_stopped else self.call(act)

    def perform(self, write: Callable[[], Coroutine[Any, Any, None]], background: BackgroundTasks) -> None:
        """Run a write in the event loop, and wait for its end.

        In the loop's own thread nothing can wait: a write that needs an admission webhook ends in the background.

        Raises:
            ClosedError: If the server has stopped.
        """
        self.check_running()
        if self.is_own_thread():
            background.run(write())
            return
        performing = asyncio.run_coroutine_threadsafe(write(), self.loop)
        try:
            performing.result()
        except concurrent.futures.CancelledError:
            raise ClosedError("the server stopped before this was done") from None
