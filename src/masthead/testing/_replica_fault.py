"""A fault of a replica's requests: which of them it strikes, and whether it has."""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._errors.base import counted
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead.testing._exchanges import Exchange
    from masthead.testing._request_filters import FilteredRequest, ReplicaRequestFilter
    from masthead.testing._writes import Write

__all__ = ["FaultMoment", "FaultNotHitError", "ReplicaFault"]

FaultMoment: TypeAlias = Literal["before", "stored", "answered"]
"""Before a request is sent, after the server has handled it, or after the caller has got the response."""

_MAX_NEAR: Final = 5
"""The maximum number of described requests that met only some filters."""


@set_module("masthead.testing")
class FaultNotHitError(AssertionError):
    """A fault that a test waits for has not struck. The message names requests that met some of its filters."""


@set_module("masthead.testing")
class ReplicaFault:
    """A fault of a replica's requests; created by the methods of `ReplicaFaults`."""

    def __init__(
        self,
        name: str,
        where: ReplicaRequestFilter,
        when: FaultMoment,
        act: Callable[[Exchange], Coroutine[object, object, None] | None],
        *,
        nth: int,
        times: int | None,
        on_remove: Callable[[ReplicaFault], None],
    ) -> None:
        self._hits = 0
        self._exchange: Exchange | None = None
        self._name = name
        self._where = where
        self._when: FaultMoment = when
        self._act = act
        self._nth = nth
        self._times = times
        self._matched = 0
        self._claimed = 0
        self._near: deque[str] = deque(maxlen=_MAX_NEAR)
        self._struck = asyncio.Event()
        self._acting: asyncio.Task[None] | None = None
        self._on_remove = on_remove

    @property
    def when(self) -> FaultMoment:
        """The moment at which it strikes."""
        return self._when

    @property
    def hits(self) -> int:
        """How many requests it has struck."""
        return self._hits

    @property
    def write(self) -> Write | None:
        """The last request that it has struck, with its response so far; None before."""
        return None if self._exchange is None else self._exchange.write

    def claims(self, request: FilteredRequest) -> bool:
        """Count a request that is about to be sent; return whether the fault is going to strike it."""
        differences = request.differences(self._where)
        if differences:
            self._note_near(request, differences)
            return False
        self._matched += 1
        if self._matched < self._nth:
            return False
        self._claimed += 1
        if self._times is not None and self._claimed >= self._times:
            self.remove()
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
        """Strike a request whose caller goes on at once."""
        acting = self._begin(exchange)
        if acting is not None:
            # Outside of the replica's process, and not ended with it.
            self._acting = asyncio.get_running_loop().create_task(acting, context=Context())

    def _begin(self, exchange: Exchange) -> Coroutine[object, object, None] | None:
        self._hits += 1
        self._exchange = exchange
        self._struck.set()
        return self._act(exchange)

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
        try:
            async with asyncio.timeout(timeout):
                await self._struck.wait()
        except TimeoutError:
            raise FaultNotHitError(self._describe_miss(timeout)) from None
        if self._acting is not None:
            await self._acting
        assert self._exchange is not None
        return self._exchange.write

    def remove(self) -> None:
        """Strike no further request."""
        self._on_remove(self)

    def __repr__(self) -> str:
        filters = "".join(f", {name}={value!r}" for name, value in self._where.items())
        nth = f", nth={self._nth}" if self._nth > 1 else ""
        return f"<{type(self).__name__} {self._name}({self._when!r}{nth}{filters}): {counted(self.hits, 'hit')}>"

    def _describe_miss(self, timeout: float) -> str:
        lines = [f"{self!r} has not struck within {timeout:g} s"]
        if self._matched:
            lines.append(f"{counted(self._matched, 'request')} met its filters, and it strikes number {self._nth}")
        else:
            lines.append("no request met its filters")
        if self._near:
            lines += ["requests that met some of them:", *(f"  {request}" for request in self._near)]
        return "\n".join(lines)
