"""The work's view of its leadership: validity and fencing token."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead._module import set_module
from masthead.errors import ArgumentError, LeadershipLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._leaderelection.own_clock import OwnClock

__all__ = ["FencingToken", "Leadership", "LeadershipView", "TermState", "WorkAbandonedError"]


class WorkAbandonedError(Exception):
    """Raised by work that returns while parts of it still run.

    Attributes:
        may_act: Whether those parts can still act. Then the lease is not released, and has to expire.
    """

    def __init__(self, work: str, *, may_act: bool = True) -> None:
        super().__init__(work)
        self.may_act = may_act


@set_module("masthead.leaderelection")
@dataclass(frozen=True, slots=True)
class FencingToken:
    """The number of a term, for systems that reject writes of earlier leaders.

    Store the highest number with the data, and reject writes with a lower one. Then a leader that was paused, and is
    unaware that its term is over, cannot do harm.

    Attributes:
        transitions: The ``leaseTransitions`` of the term: greater than in every earlier term of the lease.
        lease_uid: The UID of the lease when the term began. Numbers of different leases cannot be compared.
    """

    transitions: int
    lease_uid: str

    def is_older_than(self, other: FencingToken) -> bool:
        """Whether the token belongs to an earlier term.

        Raises:
            ArgumentError: If the tokens belong to different leases, because the lease was deleted in between.
        """
        # A recreated lease counts from 0 again: the older token could look newer.
        if self.lease_uid != other.lease_uid:
            raise ArgumentError(
                f"the fencing tokens {self} and {other} are of two leases; was the lease deleted?",
                value=other,
            )
        return self.transitions < other.transitions

    def __str__(self) -> str:
        return str(self.transitions)


class TermState:
    """The state of a term, shared by the `Leadership` of both façades.

    Attributes:
        title: Identity and lease, for messages.
        token: The fencing token.
        until: The end of the permission to act, by the own clock.
        reason: The reason for the end of the term; empty while it lasts.

    Threads: may be read from any thread; changed on the event loop.
    """

    def __init__(self, title: str, token: FencingToken, clock: OwnClock, until: float) -> None:
        self.title = title
        self.token = token
        self.until = until
        self.reason: str = ""
        self.on_revoked: list[Callable[[], object]] = []
        self._clock = clock

    @property
    def remaining(self) -> float:
        """Seconds until the term ends without a renewal; 0 after its end."""
        return 0.0 if self.reason else max(0.0, self.until - self._clock.now())

    @property
    def is_valid(self) -> bool:
        """Whether the work may act now, by the own clock."""
        return self.remaining > 0

    def revoke(self, reason: str) -> None:
        """End the term. Only the first call has an effect."""
        # The first reason is the cause; later ones are its consequences.
        if not self.reason:
            self.reason = reason
            # A copy, because callbacks remove themselves.
            for call in list(self.on_revoked):
                call()


@set_module("masthead.leaderelection")
class LeadershipView:
    """The leadership of one term, for its work."""

    def __init__(self, state: TermState) -> None:
        self._state = state

    @property
    def token(self) -> FencingToken:
        """The fencing token of the term."""
        return self._state.token

    @property
    def until(self) -> float:
        """The end of the permission to act without a renewal, in seconds of the event loop's clock."""
        return self._state.until

    @property
    def remaining(self) -> float:
        """Seconds until the work must stop unless the lease is renewed; 0 if it must stop now."""
        return self._state.remaining

    @property
    def is_valid(self) -> bool:
        """Whether the work may act now, by the own clock."""
        return self._state.is_valid

    def check(self) -> None:
        """Check that the work may act. Call this before every step that two replicas must not take.

        Raises:
            LeadershipLostError: If the leadership is over.
        """
        if not self.is_valid:
            # The clock may run out before the timer revokes the term.
            reason = self._state.reason or "the lease was not renewed in time"
            raise LeadershipLostError(f"{self._state.title}: {reason}; stop, and leave the rest to the leader")

    def __repr__(self) -> str:
        left = f"valid for {self.remaining:.1f} s" if self.is_valid else "over"
        return f"<{type(self).__name__} {self._state.title}, term {self.token}, {left}>"


@set_module("masthead.aio.leaderelection")
class Leadership(LeadershipView):
    """The leadership of one term, for its work.

    Threads: may be read from any thread.
    """

    async def wait_for_loss(self) -> None:
        """Wait for the end of the leadership, at which the work is also cancelled."""
        if self._state.reason:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(None)

        # Several tasks may wait, and each needs a future.
        self._state.on_revoked.append(wake)
        try:
            await future
        finally:
            self._state.on_revoked.remove(wake)
