"""The selection of shards of a reflector, which may change while it runs."""

from __future__ import annotations

import asyncio

from masthead._cache.reflector.interrupt import Interrupt

__all__ = ["ShardSelection"]


class ShardSelection:
    """Notes that other shards are selected, until they have been emitted.

    Attributes:
        interrupt: Set by a change, so that the reflector does not wait for what was selected before.
        awaits_state: Whether objects are selected that have not been emitted yet, for which a new state is needed.
    """

    __slots__ = ("_is_narrower", "_waiters", "awaits_state", "interrupt")

    def __init__(self) -> None:
        self.interrupt = Interrupt()
        self.awaits_state = False
        self._is_narrower = True
        self._waiters: list[asyncio.Future[None]] = []

    def change(self, *, is_narrower: bool) -> asyncio.Future[None]:
        """Other shards are selected.

        Args:
            is_narrower: Whether nothing is selected that was not before.

        Returns:
            Done when all that is selected has been emitted.
        """
        self._is_narrower = self._is_narrower and is_narrower
        self.awaits_state = self.awaits_state or not is_narrower
        self.interrupt.set()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    def begin(self) -> bool:
        """The reflector goes on with what is selected now; returns whether nothing is that was not before."""
        self.interrupt.clear()
        is_narrower, self._is_narrower = self._is_narrower, True
        return is_narrower

    def complete(self) -> None:
        """All that is selected has been emitted; unless that has changed again."""
        if self.interrupt.is_set:
            return
        self.awaits_state = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
