"""Interrupts the waits of a reflector, and nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Interrupt", "WaitInterruptedError"]


class WaitInterruptedError(Exception):
    """The awaited result is obsolete."""


class Interrupt:
    """Ends the wait in an ``async with`` block of one task: the current one, or the next.

    ``async with interrupt: page = await source.list_page(...)`` raises WaitInterruptedError after `set`.
    """

    __slots__ = ("_timeout", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._timeout: asyncio.Timeout | None = None

    def set(self) -> None:
        """Interrupt the wait."""
        self.is_set = True
        # An asyncio.Timeout and not a cancellation, so that cancelling the reflector itself stays distinguishable.
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())

    def clear(self) -> None:
        """Allow waits again."""
        self.is_set = False

    def check(self) -> None:
        """Raise if the interrupt is set.

        Raises:
            WaitInterruptedError: If it is set.
        """
        if self.is_set:
            raise WaitInterruptedError

    async def __aenter__(self) -> None:
        self.check()
        timeout = asyncio.timeout(None)
        await timeout.__aenter__()
        self._timeout = timeout

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        timeout, self._timeout = self._timeout, None
        assert timeout is not None
        try:
            await timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            if timeout.expired():
                raise WaitInterruptedError from None
            raise
