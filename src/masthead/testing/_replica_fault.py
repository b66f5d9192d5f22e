"""A fault of a replica's requests, as tests see it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from masthead._errors.base import counted
from masthead._module import set_module

if TYPE_CHECKING:
    from masthead.testing._fault_trigger import FaultTrigger
    from masthead.testing._writes import Write

__all__ = ["FaultNotHitError", "ReplicaFault", "fault_of"]


@set_module("masthead.testing")
class FaultNotHitError(AssertionError):
    """A fault that a test waits for has not struck. The message names requests that met some of its filters."""


@set_module("masthead.testing")
class ReplicaFault:
    """A fault of a replica's requests; created by the methods of `ReplicaFaults`."""

    _trigger: FaultTrigger

    @property
    def hits(self) -> int:
        """How many requests it has struck."""
        return self._trigger.hits

    @property
    def write(self) -> Write | None:
        """The last request that it has struck, with its response so far; None before."""
        exchange = self._trigger.exchange
        return None if exchange is None else exchange.write

    async def hit(self, *, timeout: float = 60.0) -> Write:  # noqa: ASYNC109 - of virtual seconds
        """Wait until the fault has struck.

        Args:
            timeout: Seconds to wait, of virtual time if the test runs in it.

        Returns:
            The last request that it has struck.

        Raises:
            FaultNotHitError: If it has not struck by then.
            Exception: Whatever the function of `ReplicaFaults.call` raises after an answer.
        """
        trigger = self._trigger
        try:
            async with asyncio.timeout(timeout):
                await trigger.struck.wait()
        except TimeoutError:
            problem = f"{self!r} has not struck within {timeout:g} s"
            raise FaultNotHitError("\n".join([problem, *trigger.describe_miss()])) from None
        # Without this await, an error of the function would be lost.
        if trigger.acting is not None:
            await trigger.acting
        assert trigger.exchange is not None
        return trigger.exchange.write

    def remove(self) -> None:
        """Strike no further request."""
        self._trigger.is_over = True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._trigger}: {counted(self.hits, 'hit')}>"


def fault_of(trigger: FaultTrigger) -> ReplicaFault:
    """Return the fault of a trigger."""
    fault = ReplicaFault()
    fault._trigger = trigger  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return fault
