"""The moments at which a fault of a replica strikes: matching, counting and acting."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._errors.base import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead.testing._exchanges import Exchange
    from masthead.testing._request_filters import FilteredRequest, ReplicaRequestFilter

__all__ = ["FaultMoment", "FaultTrigger"]

FaultMoment: TypeAlias = Literal["before", "stored", "answered"]
"""Before a request is sent, after the server has handled it, or after the caller has got the response."""

_MAX_NEAR: Final = 5
"""The maximum number of described requests that met only some filters."""


class FaultTrigger:
    """Decides which requests a fault strikes, and strikes them.

    Args:
        name: The name of the fault, for messages.
        where: Which requests.
        when: The moment.
        act: Does the damage; an awaitable result holds the request up.
        nth: The number of the first request.
        times: How many requests; None for all.

    Attributes:
        hits: How many requests it has struck.
        struck: Set when it has struck.
        exchange: The last request that it has struck.
        acting: A task that acts while the caller continues.
        is_over: Whether it strikes no further request.
    """

    def __init__(
        self,
        name: str,
        where: ReplicaRequestFilter,
        when: FaultMoment,
        act: Callable[[Exchange], Coroutine[object, object, None] | None],
        *,
        nth: int,
        times: int | None,
    ) -> None:
        self.when: Final[FaultMoment] = when
        self.hits = 0
        self.struck: Final = asyncio.Event()
        self.exchange: Exchange | None = None
        self.acting: asyncio.Task[None] | None = None
        self.is_over = False
        self._name = name
        self._where = where
        self._act = act
        self._nth = nth
        self._times = times
        self._matched = 0
        self._claimed = 0
        self._near: deque[str] = deque(maxlen=_MAX_NEAR)

    def claims(self, request: FilteredRequest) -> bool:
        """Count a request that is about to be sent; return whether the fault is going to strike it."""
        if self.is_over:
            return False
        differences = request.differences(self._where)
        if differences:
            self._note_near(request, differences)
            return False
        self._matched += 1
        if self._matched < self._nth:
            return False
        # Claims count, not hits: further requests may be sent before the first one is struck.
        self._claimed += 1
        self.is_over = self._times is not None and self._claimed >= self._times
        return True

    def _note_near(self, request: FilteredRequest, differences: list[str]) -> None:
        # All filters but one: of a test with hundreds of requests, only these explain a mistake.
        is_counted = not request.is_upkeep and request.place.is_resource
        if is_counted and (len(differences) == 1 or len(differences) < len(self._where)):
            self._near.append(f"{request} (other {', '.join(differences)})")

    async def strike(self, exchange: Exchange) -> None:
        """Strike a request, which waits for the fault."""
        acting = self._begin(exchange)
        if acting is not None:
            await acting

    def strike_answered(self, exchange: Exchange) -> None:
        """Strike a request whose caller continues immediately."""
        acting = self._begin(exchange)
        if acting is not None:
            # Outside of the replica's process, and not ended with it.
            self.acting = asyncio.get_running_loop().create_task(acting, context=Context())

    def _begin(self, exchange: Exchange) -> Coroutine[object, object, None] | None:
        self.hits += 1
        self.exchange = exchange
        # Before the damage, which may never return.
        self.struck.set()
        return self._act(exchange)

    def __str__(self) -> str:
        filters = "".join(f", {name}={value!r}" for name, value in self._where.items())
        nth = f", nth={self._nth}" if self._nth > 1 else ""
        return f"{self._name}({self.when!r}{nth}{filters})"

    def describe_miss(self) -> list[str]:
        """Explain why the fault has not struck, in lines."""
        lines = ["no request met its filters"]
        if self._matched:
            lines = [f"{counted(self._matched, 'request')} met its filters, and it strikes number {self._nth}"]
        if self._near:
            lines += ["requests that met some of them:", *(f"  {request}" for request in self._near)]
        return lines
