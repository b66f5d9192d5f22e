"""The transport of a replica: it records writes, and lets hooks control all requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._controller.logs import current_reconcile
from masthead.errors import ClosedError
from masthead.testing._exchanges import Exchange
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
"""Names the reconcile: controller, object and id."""


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
        self.hooks: list[RequestHook] = []

    def around(self, transport: Transport) -> RecordingTransport:
        """Forward requests to a transport."""
        self._transport = transport
        return self

    def sever(self) -> None:
        """Refuse all further requests: the process is dead."""
        self._is_severed = True

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request and wait for the head of its response.

        Raises:
            ClosedError: After `sever`.
            TransportError: As the transport.
        """
        self._check_alive()
        if request.method in {"GET", "HEAD"}:
            # Before the response: a watch has none for a long time.
            self._permissions.observe(request, 0)
            return await self._send(request)
        code, reconcile = 0, current_reconcile()
        try:
            response = await self._send(request)
            code = response.status
        finally:  # also without a response: the server may have performed the write
            self._log.add(read_write(request, code, self._replica.name, reconcile))
            self._permissions.observe(request, code)
        return response

    async def _send(self, request: TransportRequest) -> TransportResponse:
        reconcile = current_reconcile()
        request = _with_origin(request, self._replica.name, reconcile)
        if not self.hooks:
            return await self._transport.send(request)
        exchange = Exchange(self._replica, request, reconcile)
        for hook in tuple(self.hooks):
            await hook.before(exchange)
            self._check_alive()
        if exchange.response is None:
            exchange.response = await self._transport.send(exchange.request)
        for hook in tuple(self.hooks):
            await hook.after(exchange)
            self._check_alive()
        return exchange.response

    def _check_alive(self) -> None:
        """Check that the process is alive.

        Raises:
            ClosedError: After `sever`.
        """
        if self._is_severed:
            raise ClosedError(f"replica {self._replica.name} has crashed")

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()


def _with_origin(request: TransportRequest, replica: str, reconcile: ReconcileFields | None) -> TransportRequest:
    """Add headers that name the sender, by which an embedded server filters faults and attributes changes."""
    headers = [*request.headers, (CLIENT_HEADER, replica)]
    if reconcile is not None:
        headers.append((RECONCILE_HEADER, f"{reconcile.controller} {reconcile.object} {reconcile.reconcile_id}"))
    return replace(request, headers=headers)
