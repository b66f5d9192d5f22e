"""What the rooms above know of HTTP: a request, its response, and something that turns the one into the other.

Nothing here, and nothing above this room, names the HTTP library. A test or a user may bring a transport of their
own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Sequence

    from masthead._meta.secret import Secret, SecretValue

__all__ = ["TransportRequest", "TransportResponse", "TlsSource", "Transport"]


@dataclass(frozen=True, slots=True)
class TransportRequest:
    """One HTTP request.

    Attributes:
        method: ``GET`` and so on.
        target: The path and query as they go over the wire: escaped already, from the first slash on.
        headers: What to send beside what the transport adds itself (``Host``, lengths, ``Accept-Encoding``), as pairs,
            because some come more than once. Credentials are Secrets, and are reveal where the bytes are written. The
            repr leaves all of them out.
        body: What to send, hidden if it holds credentials; None for nothing.
        timeout: How many seconds the whole exchange may take, the response's body included; None for as long as it takes.
        read_timeout: How many seconds may pass without a byte from the server; None for as long as it takes.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str | Secret]] = field(default=(), repr=False)
    body: bytes | SecretValue[bytes] | None = field(default=None, repr=False)
    timeout: float | None = None
    read_timeout: float | None = None


class TransportResponse(Protocol):
    """A response whose head has come. Read it to the end, or close it."""

    @property
    def status(self) -> int:
        """The HTTP code."""
        ...

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if it is not there."""
        ...

    def headers_of(self, name: str) -> list[str]:
        """Every value of a header that may come more than once."""
        ...

    async def read(self) -> bytes:
        """The whole body; the connection then goes back to the pool.

        Raises:
            DeadlineError: If it does not come in time.
            ProtocolError: If it is cut short.
            ResponseTooLargeError: If it is larger than the transport takes.
            ClosedError: If it was closed meanwhile.
        """
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, in pieces of any length.

        Raises:
            DeadlineError: If the server is silent for too long.
            ProtocolError: If it is cut short.
            ClosedError: If it was closed meanwhile.
        """
        ...

    def close(self) -> None:
        """Drop what was not read, and the connection with it; does nothing where all was read."""
        ...


class Transport(Protocol):
    """Sends requests to one server, over connections that it keeps."""

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request and wait for the head of its response; any status is a response.

        Raises:
            ConnectError: If no connection was made, so that the server cannot have seen the request.
            DeadlineError: If no response came in time.
            ProtocolError: If the connection was lost, or what came is not HTTP: the server may have seen the request.
            ClosedError: If the transport is closed.
        """
        ...

    async def close(self) -> None:
        """Close every connection. Closing twice does nothing."""
        ...


class TlsSource(Protocol):
    """Where a transport gets its TLS settings."""

    async def context(self) -> ssl.SSLContext:
        """What to connect with now: the same object as before, until certificates have changed.

        Raises:
            AuthError: If a certificate or key cannot be read.
            ConfigError: If the authority's certificate cannot be read.
        """
        ...
