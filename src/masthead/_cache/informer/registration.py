"""The registration of a handler: its progress, and its removal."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol

from masthead._module import set_module
from masthead.errors import ClosedError, DeadlineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._cache.informer.processor_listener import HandlerDispatcher

__all__ = ["Registration", "in_time"]


class ListenerStatus(Protocol):
    """The part of a listener that a registration reads."""

    name: str
    is_synced: bool
    failures: int
    on_synced: Callable[[], object]

    @property
    def pending(self) -> int:
        """The number of pending notifications."""
        ...


@set_module("masthead.aio.cache")
class Registration:
    """A registered handler of an informer.

    A handler may be registered several times; each registration is notified and removed separately.
    """

    def __init__(
        self,
        listener: ListenerStatus,
        dispatcher: HandlerDispatcher,
        leave: Callable[[Registration], object],
        is_within: Callable[[], bool],
        on_done: Callable[[], object] = lambda: None,
    ) -> None:
        self._listener = listener
        self._dispatcher = dispatcher
        self._leave = leave
        self._is_within = is_within
        self._on_done = on_done
        self._done = asyncio.Event()
        listener.on_synced = self._mark_done_nowait
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def name(self) -> str:
        """The handler's name in logs and metrics."""
        return self._listener.name

    @property
    def has_synced(self) -> bool:
        """Whether the handler has returned from every initial add, even if one raised."""
        return self._listener.is_synced

    @property
    def pending(self) -> int:
        """The number of pending notifications."""
        return self._listener.pending

    async def wait_for_cache_sync(self, timeout: float | None = None) -> bool:
        """Wait until the handler has returned from every initial add.

        Returns:
            True. A timeout is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds.
            ClosedError: If the handler was removed, or the informer has stopped.
        """
        await in_time(self._done.wait(), timeout, f"handler {self.name} has not processed the initial objects")
        # A removal sets the event as well, or the wait would never end.
        if not self.has_synced:
            raise ClosedError(
                f"handler {self.name} will not receive all initial objects: it was removed, or its informer has stopped"
            )
        return True

    @property
    def is_called_from_handler(self) -> bool:
        """Whether a handler of the informer is the caller, which cannot wait for its own end or another's."""
        return self._is_within()

    @property
    def is_own(self) -> bool:
        """Whether the handler itself is the caller."""
        return self._dispatcher.is_own()

    @property
    def is_alive(self) -> bool:
        """Whether the handler's task or thread is running."""
        return self._dispatcher.is_alive()

    @property
    def failures(self) -> int:
        """The number of exceptions that the handler has raised."""
        return self._listener.failures

    async def remove(self) -> None:
        """Remove the handler, drop its pending notifications, and wait for a running call to return.

        A second removal is a no-op. If a handler of the informer is the caller, the removal does not wait.
        """
        self.remove_nowait()
        if not self.is_called_from_handler:
            await self._dispatcher.end(None)
            # Again: its task or thread has ended now, so that the informer can forget it.
            self._leave(self)

    def remove_nowait(self) -> None:
        """Detach the handler without waiting."""
        self._leave(self)
        self._mark_done_nowait()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to dispatch; called by the informer."""
        self._loop = loop
        self._dispatcher.start()

    async def stop(self, timeout: float) -> None:
        """Wait for a running call to return; called by the informer when it stops."""
        await self._dispatcher.end(timeout)

    def _mark_done_nowait(self) -> None:
        # Called in the handler's thread, if it has one; events of asyncio are set on the loop.
        if self._loop is None:
            self.mark_done()
            return
        with contextlib.suppress(RuntimeError):  # a closed loop has no waiters
            self._loop.call_soon_threadsafe(self.mark_done)

    def mark_done(self) -> None:
        """Wake all waits for the sync; on the informer's loop, or anywhere before the start."""
        self._done.set()
        self._on_done()

    def __repr__(self) -> str:
        return f"<Registration of {self.name!r}, {self.pending} pending>"


async def in_time(waiting: Awaitable[object], timeout: float | None, problem: str) -> None:
    """Await something with a timeout.

    Raises:
        DeadlineError: If that takes longer than `timeout` seconds; the message has the problem.
    """
    try:
        async with asyncio.timeout(timeout):
            await waiting
    except TimeoutError:
        raise DeadlineError(f"{problem}, and {timeout:g} s are over") from None
