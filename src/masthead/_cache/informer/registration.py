"""The registration of a handler: how it is doing, and how to remove it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol

from masthead._module import set_module
from masthead.errors import ClosedError, DeadlineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._cache.informer.dispatcher import HandlerDispatcher

__all__ = ["Registration", "in_time"]


class ListenerStatus(Protocol):
    """The part of a listener that a registration reads."""

    name: str
    is_synced: bool
    failures: int
    on_synced: Callable[[], object]

    @property
    def pending(self) -> int:
        """How many notifications wait for it."""
        ...


@set_module("masthead.aio.cache")
class Registration:
    """A handler of an informer.

    A handler may be added several times; each registration is notified, and removed, by itself.
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
        """The handler's name, as logs and metrics have it."""
        return self._listener.name

    @property
    def has_synced(self) -> bool:
        """Whether the handler has returned from every initial add, even if one raised."""
        return self._listener.is_synced

    @property
    def pending(self) -> int:
        """How many notifications wait for it."""
        return self._listener.pending

    async def wait_for_cache_sync(self, timeout: float | None = None) -> bool:
        """Wait until the handler has returned from every initial add.

        Returns:
            True. Being late is an error, not a False that can be overlooked; ``if not ...`` of ported code is right.

        Raises:
            DeadlineError: If that takes longer than `timeout` seconds.
            ClosedError: If it will never be so: the handler is removed, or the informer has stopped.
        """
        await in_time(self._done.wait(), timeout, f"handler {self.name} has not processed the initial objects")
        # A removal ends the wait as well, or it would never end.
        if not self.has_synced:
            raise ClosedError(
                f"handler {self.name} will not receive all initial objects: it was removed, or its informer has stopped"
            )
        return True

    @property
    def is_called_from_handler(self) -> bool:
        """Whether a handler of its informer asks: it cannot wait for its own end, nor for one that may wait for it."""
        return self._is_within()

    @property
    def is_own(self) -> bool:
        """Whether it is the handler itself that asks."""
        return self._dispatcher.is_own()

    @property
    def is_alive(self) -> bool:
        """Whether its task, or thread, is there."""
        return self._dispatcher.is_alive()

    @property
    def failures(self) -> int:
        """How often the handler has raised."""
        return self._listener.failures

    async def remove(self) -> None:
        """Remove the handler: what waits for it is dropped, and a call that is under way is waited for.

        Removing twice does nothing. A handler may remove itself, or another one of its informer; then nothing is waited
        for.
        """
        self.remove_nowait()
        if not self.is_called_from_handler:
            await self._dispatcher.end(None)
            self._leave(self)  # again: now that it is over, the informer can forget it

    def remove_nowait(self) -> None:
        """Detach the handler, and wait for nothing."""
        self._leave(self)
        self._mark_done_nowait()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to dispatch; the informer does this."""
        self._loop = loop
        self._dispatcher.start()

    async def stop(self, timeout: float) -> None:
        """Wait until nothing is dispatched any more; the informer does this when it stops."""
        await self._dispatcher.end(timeout)

    def _mark_done_nowait(self) -> None:
        # In the handler's thread, if it has one.
        if self._loop is None:
            self.mark_done()
            return
        with contextlib.suppress(RuntimeError):  # the loop has closed, and nothing waits there any more
            self._loop.call_soon_threadsafe(self.mark_done)

    def mark_done(self) -> None:
        """Wake those who wait for the sync; on the informer's loop, or anywhere if it has not started."""
        self._done.set()
        self._on_done()

    def __repr__(self) -> str:
        return f"<Registration of {self.name!r}, {self.pending} pending>"


async def in_time(waiting: Awaitable[object], timeout: float | None, problem: str) -> None:
    """Wait for something.

    Raises:
        DeadlineError: If it takes longer than `timeout` seconds; says the problem.
    """
    try:
        async with asyncio.timeout(timeout):
            await waiting
    except TimeoutError:
        raise DeadlineError(f"{problem}, and {timeout:g} s are over") from None
