"""Faults of a replica's requests: crashes, failures, lost responses, delays, and calls of the test in between.

They act on the client of the replica, so that they work with every server.
"""

from __future__ import annotations

import asyncio
import inspect
from contextvars import copy_context
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead.errors import ProtocolError
from masthead.testing._exchanges import stay_forever
from masthead.testing._fault_hook import FaultHook
from masthead.testing._fault_trigger import FaultMoment, FaultTrigger
from masthead.testing._replica_fault import ReplicaFault, fault_of
from masthead.testing._request_filters import check_filter
from masthead.testing._request_places import locate, verb_of
from masthead.testing._status_response import (
    StatusResponse,
    conflict_response,
    forbidden_response,
    throttled_response,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Unpack

    from masthead.testing._exchanges import Exchange
    from masthead.testing._replica import Replica
    from masthead.testing._request_filters import ReplicaRequestFilter

__all__ = ["ReplicaFaults"]

_MOMENTS: Final = ("before", "stored", "answered")
_FAILURES: Final = range(400, 600)


@set_module("masthead.testing")
class ReplicaFaults:
    """The faults of a replica's requests: ``replica.faults``.

    A fault strikes the `nth` request that meets its filters since its creation, or the first after `skip` others; see
    `ReplicaRequestFilter` for the filters. `times` is how many requests it strikes from there on; None for all. Methods
    raise TypeError for an unknown filter, and ValueError for a fault that could never strike.
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._hook = FaultHook()

    def crash(
        self,
        when: FaultMoment = "stored",
        *,
        nth: int | None = None,
        skip: int | None = None,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Kill the replica at a request; see `Replica.crash`.

        Args:
            when: ``before`` the request is sent; when the server has ``stored`` its effect, and the replica never gets
                the response; or when its caller is ``answered``, before the replica sends anything else.
            nth: The number of the request.
            skip: The number of requests before it, instead of `nth`.
            where: Which requests.
        """

        async def kill(exchange: Exchange) -> None:
            exchange.replica.kill()
            # A dead process sees no error and runs no ``except`` clause.
            await stay_forever()

        def kill_soon(exchange: Exchange) -> None:
            # Not now: the caller gets its response first.
            exchange.replica.kill_soon()

        return self._add("crash", kill_soon if when == "answered" else kill, when, nth, skip, 1, where)

    def fail(
        self,
        code: int,
        *,
        reason: str | None = None,
        message: str = "",
        retry_after: int = 0,
        nth: int | None = None,
        skip: int | None = None,
        times: int | None = 1,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Fail requests, which the server does not get.

        Args:
            code: The status code, such as 500 or 503; from 400 to 599.
            reason: The reason of the Status; by default the one of the code.
            message: The message of the Status; by default the one of the code.
            retry_after: Seconds for the Retry-After header; 0 for none. The client repeats such requests itself.
            nth: The number of the first request.
            skip: The number of requests before it, instead of `nth`.
            times: How many requests; None for all.
            where: Which requests.
        """
        if code not in _FAILURES:
            raise ValueError(f"a failure's code is between 400 and 599, not {code}")

        async def respond(exchange: Exchange) -> None:
            exchange.response = StatusResponse(code, reason, message, retry_after)

        return self._add("fail", respond, "before", nth, skip, times, where)

    def conflict(
        self,
        *,
        nth: int | None = None,
        skip: int | None = None,
        times: int | None = 1,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Fail writes as if another client had written first; updates and patches by default.

        A create, if ``verb`` includes it, gets "already exists".
        """

        async def respond(exchange: Exchange) -> None:
            place = locate(exchange.request)
            exchange.response = conflict_response(verb_of(exchange.request, place), place)

        # A create has no resource version, so that it cannot lose this race.
        filters: ReplicaRequestFilter = where if "verb" in where else {"verb": ("update", "patch"), **where}
        return self._add("conflict", respond, "before", nth, skip, times, filters)

    def throttle(
        self,
        *,
        retry_after: int = 1,
        nth: int | None = None,
        skip: int | None = None,
        times: int | None = 1,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Respond with 429, Retry-After and a line of text, as kube-apiserver's in-flight limit does."""

        async def respond(exchange: Exchange) -> None:
            exchange.response = throttled_response(retry_after)

        return self._add("throttle", respond, "before", nth, skip, times, where)

    def forbid(
        self,
        *,
        nth: int | None = None,
        skip: int | None = None,
        times: int | None = 1,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Fail requests as if a role of the replica's service account had been removed."""
        user = self._replica.user

        async def respond(exchange: Exchange) -> None:
            place = locate(exchange.request)
            exchange.response = forbidden_response(verb_of(exchange.request, place), place, user)

        return self._add("forbid", respond, "before", nth, skip, times, where)

    def lose_response(
        self,
        *,
        nth: int | None = None,
        skip: int | None = None,
        times: int | None = 1,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Break the connection after the server has handled a request: the replica cannot know whether it has."""

        async def lose(exchange: Exchange) -> None:
            # An unread response would occupy its connection.
            if exchange.response is not None:
                exchange.response.close()
            request = exchange.request
            raise ProtocolError(
                f"{request.method} {request.target.partition('?')[0]}: the server closed the connection without a "
                "response; check whether the request was carried out",
                verb=request.method,
                url=request.target.partition("?")[0],
            )

        return self._add("lose_response", lose, "stored", nth, skip, times, where)

    def delay(
        self,
        seconds: float,
        *,
        nth: int | None = None,
        skip: int | None = None,
        times: int | None = 1,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Delay requests by some seconds, as a slow network does."""
        if not 0 < seconds < float("inf"):
            raise ValueError(f"a delay is a number of seconds, more than 0, not {seconds}")

        async def wait(_: Exchange) -> None:
            await asyncio.sleep(seconds)

        return self._add("delay", wait, "before", nth, skip, times, where)

    def call(
        self,
        function: Callable[[], object],
        *,
        when: FaultMoment = "before",
        nth: int | None = None,
        skip: int | None = None,
        times: int | None = 1,
        **where: Unpack[ReplicaRequestFilter],
    ) -> ReplicaFault:
        """Call a function of the test at a request: to change an object between a reconcile's read and its write, say.

        The request, or its response, waits for the function; the caller of an ``answered`` request does not.

        Args:
            function: A coroutine function, or a plain function, which runs in a thread.
            when: ``before`` the request is sent, when the server has ``stored`` its effect, or when its caller is
                ``answered``.
            nth: The number of the first request.
            skip: The number of requests before it, instead of `nth`.
            times: How many requests; None for all.
            where: Which requests.
        """
        # The function acts for the test: neither its writes nor its end are those of the replica's reconcile.
        context = copy_context()

        async def run() -> None:
            if inspect.iscoroutinefunction(function):
                await function()
            else:
                await asyncio.to_thread(function)

        async def call(_: Exchange) -> None:
            await asyncio.get_running_loop().create_task(run(), context=context.copy())

        return self._add("call", call, when, nth, skip, times, where)

    def clear(self) -> None:
        """Remove all faults."""
        self._hook.clear()

    def _add(
        self,
        name: str,
        act: Callable[[Exchange], Coroutine[object, object, None] | None],
        when: FaultMoment,
        nth: int | None,
        skip: int | None,
        times: int | None,
        where: ReplicaRequestFilter,
    ) -> ReplicaFault:
        check_filter(where)
        if when not in _MOMENTS:
            raise ValueError(f"a fault strikes at one of {', '.join(_MOMENTS)}, not at {when!r}")
        if nth is not None and skip is not None:
            raise TypeError("give nth or skip, not both")
        number = (skip or 0) + 1 if nth is None else nth
        if number < 1 or (times is not None and times < 1):
            raise ValueError("a fault strikes at least one request, and the first is number 1")
        trigger = FaultTrigger(name, where, when, act, nth=number, times=times)
        self._hook.add(trigger)
        # With the first fault only, so that replicas without faults have no hook.
        if self._hook not in self._replica.hooks:
            self._replica.hooks.append(self._hook)
        return fault_of(trigger)
