"""The selected shards of a reflector, which may change while it runs."""

from __future__ import annotations

import asyncio

from masthead._cache.reflector.interrupt import Interrupt

__all__ = ["ShardSelection"]


class ShardSelection:
    """A pending change of the selected shards.

    Attributes:
        interrupt: Set by a change, so that the reflector abandons the request for the previous selection.
        awaits_state: Whether newly selected objects have not been emitted yet, so that a new list is needed.
    """

    __slots__ = ("_is_narrower", "_waiters", "awaits_state", "interrupt")

    def __init__(self) -> None:
        self.interrupt = Interrupt()
        self.awaits_state = False
        self._is_narrower = True
        self._waiters: list[asyncio.Future[None]] = []

    def change(self, *, is_narrower: bool) -> asyncio.Future[None]:
        """Request a change of the selection.

        Args:
            is_narrower: Whether all selected objects were selected before.

        Returns:
            Done when all selected objects have been emitted.
        """
        # Several changes may come before the reflector applies them: one wider change needs a new list.
        self._is_narrower = self._is_narrower and is_narrower
        self.awaits_state = self.awaits_state or not is_narrower
        self.interrupt.set()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    def begin(self) -> bool:
        """Begin to apply the changes; return whether all selected objects were selected before."""
        self.interrupt.clear()
        is_narrower, self._is_narrower = self._is_narrower, True
        return is_narrower

    def complete(self) -> None:
        """Note that all selected objects have been emitted, unless the selection has changed again."""
        # Changed again in the meantime: the waiters are served by the next state.
        if self.interrupt.is_set:
            return
        self.awaits_state = False
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
