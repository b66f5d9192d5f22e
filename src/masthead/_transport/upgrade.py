"""Connections that were upgraded to another protocol: bytes both ways, with flow control."""

from __future__ import annotations

from masthead._transport.body import HttpResponse

__all__ = ["HttpUpgrade"]


class HttpUpgrade(HttpResponse):
    """The `UpgradedResponse` of HTTP: a 101, and the connection behind it."""

    __slots__ = ()

    async def receive(self) -> bytes:
        """The next bytes, in pieces of any length; empty at their end. Cancelling it loses nothing.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the connection is lost.
            ClosedError: If it was closed during the wait.
        """
        response = self._response
        while True:
            if piece := response.take():
                return piece
            if response.fault is not None:
                raise self._broken(response.fault)
            if response.is_complete:
                return b""
            await response.changed()

    def write(self, data: bytes) -> None:
        """Send bytes, or buffer them while the peer does not read; after the end of the connection, do nothing."""
        self._response.write(data)

    @property
    def is_backed_up(self) -> bool:
        """Whether `drain` would wait."""
        return self._response.is_backed_up

    async def drain(self) -> None:
        """Wait until the peer has read most of the written bytes.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the connection is lost.
            ClosedError: If it was closed during the wait.
        """
        await self._response.drain()
        if self._response.fault is not None:
            raise self._broken(self._response.fault)
