"""Lets the faults of a replica strike its requests."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from masthead.testing._answered_response import AnsweredResponse
from masthead.testing._request_filters import FilteredRequest

if TYPE_CHECKING:
    from masthead.testing._exchanges import Exchange
    from masthead.testing._fault_trigger import FaultTrigger

__all__ = ["FaultHook"]


class FaultHook:
    """Applies the pending faults of a replica, oldest first."""

    def __init__(self) -> None:
        self._triggers: list[FaultTrigger] = []
        self._claims: WeakKeyDictionary[Exchange, list[FaultTrigger]] = WeakKeyDictionary()

    def add(self, trigger: FaultTrigger) -> None:
        """Add a fault."""
        self._triggers.append(trigger)

    def clear(self) -> None:
        """Remove all faults."""
        for trigger in self._triggers:
            trigger.is_over = True
        self._triggers.clear()

    async def before(self, exchange: Exchange) -> None:
        """Let faults strike before a request is sent."""
        self._triggers = [trigger for trigger in self._triggers if not trigger.is_over]
        if not self._triggers:
            return
        request = FilteredRequest.of(exchange)
        # All count the request before any strikes, so that their numbers do not depend on each other.
        claims = [trigger for trigger in self._triggers if trigger.claims(request)]
        for trigger in claims:
            if trigger.when == "before":
                await trigger.strike(exchange)
        # A request that was not sent has no effect and no response.
        if exchange.response is None:
            self._claims[exchange] = [trigger for trigger in claims if trigger.when != "before"]

    async def after(self, exchange: Exchange) -> None:
        """Let faults strike when a response has arrived."""
        for trigger in self._claims.pop(exchange, ()):
            if trigger.when == "stored":
                await trigger.strike(exchange)
            elif exchange.response is not None:
                strike = functools.partial(trigger.strike_answered, exchange)
                exchange.response = AnsweredResponse(exchange.response, strike)
