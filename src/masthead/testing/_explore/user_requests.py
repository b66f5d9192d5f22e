"""The requests of the workload, which is as patient as a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._transport.contract import Transport, TransportRequest, TransportResponse

__all__ = ["PatientTransport"]

_REFUSED: Final = frozenset({404, 409, 500})
"""500 is also the answer if the webhook of an absent operator cannot be called."""


class PatientTransport:
    """Repeats a write that the server refuses only because a fault keeps the operator from its work.

    A user who cannot create an object again, because its finalizer has not been removed yet, tries again later.

    Args:
        catch_up: Ends the faults that delay the operator, and waits until all is idle; returns whether there were any.
    """

    _transport: Transport

    def __init__(self, catch_up: Callable[[], Awaitable[bool]]) -> None:
        self._catch_up = catch_up

    def around(self, transport: Transport) -> PatientTransport:
        """Forward requests to a transport."""
        self._transport = transport
        return self

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request; see `Transport.send` for the errors."""
        response = await self._transport.send(request)
        # The catch-up comes last, because it ends faults: no other response may cause that.
        if response.status not in _REFUSED or request.method == "HEAD" or not await self._catch_up():
            return response
        # The second request may need the connection.
        response.close()
        return await self._transport.send(request)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()
