"""A fault: its effect, its filters, and its hits."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead_server.argument_checks import check_seconds
from masthead_server.fault_filters import is_met

if TYPE_CHECKING:
    from masthead_server.fault_filters import RequestFilter
    from masthead_server.fault_responses import FaultResponder
    from masthead_server.faults import Faults
    from masthead_server.wire.request_info import RequestInfo

__all__ = ["HOLDING_EFFECTS", "Effect", "Fault"]

_HIT_TIMEOUT: Final = 30.0
_waiting: Final = threading.Lock()
"""Guards hits and those who wait for them: tests wait in other threads than the server's."""


@set_module("masthead.server")
class Effect(Enum):
    """What a fault does."""

    REFUSE = "refuse"
    DELAY = "delay"
    LOSE = "lose response"
    DROP = "drop"
    CUT = "cut"
    SILENCE = "silence"
    EXPIRE = "expire"
    HOLD_BOOKMARKS = "hold bookmarks"
    REPEAT_BOOKMARKS = "repeat bookmarks"
    STALE = "stale"
    FREEZE = "freeze"
    HOLD_EVENTS = "hold events"
    DROP_STREAM = "drop stream"
    SILENCE_STREAM = "silence stream"
    CLOSE_STREAM = "close stream"
    INSERT_MESSAGE = "insert message"


HOLDING_EFFECTS: Final = frozenset({Effect.FREEZE, Effect.HOLD_EVENTS})
"""The effects that hold events back until the fault is removed."""


@set_module("masthead.server")
@dataclass(eq=False, slots=True)
class Fault:
    """One fault.

    Attributes:
        effect: What it does.
        where: The requests that it hits.
        times: How many more requests it hits; None for all.
        hits: How many requests it hit.
        skip: How many matching requests it ignores before it hits one.
        after: For watches: after how many events; for other streams: after how many bytes.
        amount: How many revisions a list is behind, or how often a bookmark is sent.
        revision: The revision of a frozen view, or the one after which events are held; None for any.
        event_name: The name of the object whose events are held; empty for all.
        event_namespace: The namespace of the objects whose events are held; empty for all.
        seconds: How long a request waits.
        respond: Makes its response.
        is_in_stream: Whether a watch gets that response as an event.
        data: The message to insert, or what closes a WebSocket.
        counts_received: Whether to count the bytes from the client.
        is_removed: Whether the test has removed it.
        owner: The faults that it belongs to.
    """

    effect: Effect
    where: RequestFilter
    times: int | None = 1
    hits: int = 0
    skip: int = 0
    after: int = 0
    amount: int = 0
    revision: int | None = None
    event_name: str = ""
    event_namespace: str = ""
    seconds: float = 0.0
    respond: FaultResponder | None = field(default=None, repr=False)
    is_in_stream: bool = False
    data: bytes = field(default=b"", repr=False)
    counts_received: bool = False
    is_removed: bool = False
    owner: Faults | None = field(default=None, repr=False)
    _waiters: list[concurrent.futures.Future[None]] = field(
        default_factory=list[concurrent.futures.Future[None]], init=False, repr=False
    )

    def matches(self, info: RequestInfo, body: bytes = b"") -> bool:
        """Tell whether a request matches the filters."""
        return is_met(self.where, info, body)

    def remove(self) -> None:
        """Remove it; what it held back is sent."""
        if self.owner is not None:
            self.owner.discard(self)

    async def hit(self) -> None:
        """Wait until it has hit a request."""
        await asyncio.wrap_future(self._wait())

    def block_until_hit(self, *, timeout: float = _HIT_TIMEOUT) -> None:
        """Block until it has hit a request, as `hit` awaits it: for a server in another thread.

        Args:
            timeout: Seconds of real time.

        Raises:
            TimeoutError: If it hits none in time.
            TypeError: If the timeout is no number.
            ArgumentError: If it is negative or NaN.
        """
        check_seconds("timeout", timeout)
        try:
            self._wait().result(timeout)
        except concurrent.futures.TimeoutError:
            raise TimeoutError(f"the fault hit no request within {timeout:g} seconds: {self}") from None

    def strike(self) -> None:
        """Count a hit, and wake those who wait for it."""
        with _waiting:
            self.hits += 1
            waiters = tuple(self._waiters)
            self._waiters.clear()
        for waiter in waiters:
            if waiter.set_running_or_notify_cancel():
                waiter.set_result(None)

    def _wait(self) -> concurrent.futures.Future[None]:
        waiter = concurrent.futures.Future[None]()
        with _waiting:
            if not self.hits:
                self._waiters.append(waiter)
                return waiter
        waiter.set_result(None)
        return waiter
