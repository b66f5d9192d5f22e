"""The transport of a replica: it records writes, and lets hooks control all requests."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._controller.catch_up import is_catching_up
from masthead._controller.logs import current_reconcile
from masthead.errors import ClosedError
from masthead.testing._exchanges import Exchange, stay_forever
from masthead.testing._writes import read_write

if TYPE_CHECKING:
    from masthead._controller.logs import ReconcileFields
    from masthead._transport.contract import Transport, TransportRequest, TransportResponse
    from masthead.testing._exchanges import RequestHook
    from masthead.testing._permissions import PermissionCheck
    from masthead.testing._replica import Replica
    from masthead.testing._writes import WriteLog

__all__ = ["RecordingTransport"]

CLIENT_HEADER: Final = "X-Masthead-Client"
"""Names the replica."""
RECONCILE_HEADER: Final = "X-Masthead-Reconcile"
"""Names the reconcile: controller, object and id; a dash for other live reads."""
_MAX_REFUSALS: Final = 100
"""Refused requests of a killed replica before the next ones wait for ever."""


class _PendingRequest:
    """A request without a response.

    Attributes:
        request: The request.
        reconcile: The sending reconcile, if any.
        is_sent: Whether the server may have it.
    """

    __slots__ = ("is_sent", "reconcile", "request")

    def __init__(self, request: TransportRequest, reconcile: ReconcileFields | None) -> None:
        self.request = request
        self.reconcile = reconcile
        self.is_sent = False


class RecordingTransport:
    """Forwards requests, records the writes among them, and lets hooks control them.

    Args:
        log: Receives the writes.
        replica: The sending replica.
        permissions: Checks the requests.

    Attributes:
        hooks: Control the requests, in order.
    """

    _transport: Transport

    def __init__(self, log: WriteLog, replica: Replica, permissions: PermissionCheck) -> None:
        self._log = log
        self._replica = replica
        self._permissions = permissions
        self._is_severed = False
        self._is_doomed = False
        self._refusals = 0
        self._writes: list[_PendingRequest] = []
        self.hooks: list[RequestHook] = []

    def around(self, transport: Transport) -> RecordingTransport:
        """Forward requests to a transport."""
        self._transport = transport
        return self

    def sever(self) -> None:
        """Refuse all further requests: the process is dead. Writes on their way get no response."""
        if self._is_severed:
            return
        self._is_severed = True
        for write in self._writes:
            if write.is_sent:
                self._record(write, 0)

    def doom(self) -> None:
        """Kill the replica at its next request."""
        self._is_doomed = True

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request and wait for the head of its response.

        Raises:
            ClosedError: After `sever`.
            TransportError: As the transport.
        """
        await self._check_alive()
        write = _PendingRequest(request, current_reconcile())
        if request.method in {"GET", "HEAD"}:
            # Before the response: a watch has none for a long time.
            self._permissions.observe(request, 0)
            return await self._send(write)
        code = 0
        self._writes.append(write)
        try:
            response = await self._send(write)
            code = response.status
        finally:  # also without a response: the server may have performed the write
            self._writes.remove(write)
            if not self._is_severed:
                self._record(write, code)
        return response

    def _record(self, write: _PendingRequest, code: int) -> None:
        self._log.add(read_write(write.request, code, self._replica.name, write.reconcile))
        self._permissions.observe(write.request, code)

    async def _send(self, pending: _PendingRequest) -> TransportResponse:
        request = _with_origin(pending.request, self._replica.name, pending.reconcile)
        if not self.hooks:
            pending.is_sent = True
            response = await self._transport.send(request)
            await self._check_alive(response)
            return response
        exchange = Exchange(self._replica, request, pending.reconcile)
        for hook in tuple(self.hooks):
            await hook.before(exchange)
            await self._check_alive()
        if exchange.response is None:
            pending.is_sent = True
            exchange.response = await self._transport.send(exchange.request)
        for hook in tuple(self.hooks):
            await hook.after(exchange)
            await self._check_alive(exchange.response)
        return exchange.response

    async def _check_alive(self, response: TransportResponse | None = None) -> None:
        """Check that the process is alive; close the response that it must not get.

        Raises:
            ClosedError: After `sever`.
        """
        if self._is_doomed and response is None and not self._is_severed:
            self._replica.kill()
        if not self._is_severed:
            return
        if response is not None:
            response.close()
        # Code that repeats a refused request for ever must not keep other tasks from running.
        self._refusals += 1
        if self._refusals > _MAX_REFUSALS:
            await stay_forever()
        await asyncio.sleep(0)
        raise ClosedError(f"replica {self._replica.name} has crashed")

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()


def _with_origin(request: TransportRequest, replica: str, reconcile: ReconcileFields | None) -> TransportRequest:
    """Add headers that name the sender, by which an embedded server filters faults and attributes changes."""
    headers = [*request.headers, (CLIENT_HEADER, replica)]
    if reconcile is not None:
        headers.append((RECONCILE_HEADER, f"{reconcile.controller} {reconcile.object} {reconcile.reconcile_id}"))
    elif request.method == "GET" and not _is_of_cache(request):
        # A live read of a timer or source: a stale view of the caches does not concern it.
        headers.append((RECONCILE_HEADER, "-"))
    return replace(request, headers=headers)


def _is_of_cache(request: TransportRequest) -> bool:
    """Whether a request of no reconcile fills a cache: it asks for any version, follows one, or checks its state."""
    return is_catching_up.get() or "watch=" in request.target or "resourceVersion=" in request.target
