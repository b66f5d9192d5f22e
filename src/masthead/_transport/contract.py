"""The interface of a transport: a request, its response, and `Transport`, which sends one and returns the other.

Nothing here, and nothing above this package, names the HTTP library. Tests and users may bring a transport of
their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from masthead._module import set_module

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Sequence

    from masthead._meta.secret import Secret, SecretValue

__all__ = ["TlsSource", "Transport", "TransportRequest", "TransportResponse", "UpgradedResponse"]


@set_module("masthead.aio.rest")
@dataclass(frozen=True, slots=True)
class TransportRequest:
    """One HTTP request.

    Attributes:
        method: The HTTP method.
        target: The escaped path and query.
        headers: Headers, without those of the transport (``Host``, lengths,
            ``Accept-Encoding``), as pairs, because some occur more than once. Credentials are Secrets, and
            are revealed where the bytes are written. The repr leaves all of them out.
        body: The body, a secret value if it holds credentials; None for none.
        timeout: Timeout of the whole exchange in seconds, the response's body included; None for no limit.
        read_timeout: For a stream, how many seconds may pass without a byte from the server; infinite for no limit.
            None for a call, which takes a place in the pool.
        is_upgrade: Whether the headers ask for another protocol. It is sent on a separate connection, never twice, and
            past a proxy that forwards requests; the response to it is an `UpgradedResponse` if its status is 101.
    """

    method: str
    target: str
    headers: Sequence[tuple[str, str | Secret]] = field(default=(), repr=False)
    body: bytes | SecretValue[bytes] | None = field(default=None, repr=False)
    timeout: float | None = None
    read_timeout: float | None = None
    is_upgrade: bool = False


@set_module("masthead.aio.rest")
class TransportResponse(Protocol):
    """A response whose head has arrived. Read it to the end, or close it."""

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if absent."""
        ...

    def headers_of(self, name: str) -> list[str]:
        """All values of a header that may occur more than once."""
        ...

    async def read(self) -> bytes:
        """Read the whole body, and return the connection to the pool.

        Raises:
            DeadlineError: If the timeout expires.
            ProtocolError: If the body is cut short.
            ResponseTooLargeError: If the body exceeds the transport's limit.
            ClosedError: If the response was closed during the read.
        """
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, in chunks of any length.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the body is cut short.
            ClosedError: If the response was closed during the read.
        """
        ...

    def close(self) -> None:
        """Close the connection unless the whole body was read."""
        ...


@runtime_checkable
class UpgradedResponse(TransportResponse, Protocol):
    """The connection after a 101: bytes of the other protocol, both ways. Close it in the end."""

    async def receive(self) -> bytes:
        """The next bytes, in pieces of any length; empty at their end. Cancelling it loses nothing.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the connection is lost.
            ClosedError: If it was closed during the wait.
        """
        ...

    def write(self, data: bytes) -> None:
        """Send bytes, or buffer them while the peer does not read; after the end of the connection, do nothing."""
        ...

    @property
    def is_backed_up(self) -> bool:
        """Whether `drain` would wait."""
        ...

    async def drain(self) -> None:
        """Wait until the peer has read most of the written bytes.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the connection is lost.
            ClosedError: If it was closed during the wait.
        """
        ...


@set_module("masthead.aio.rest")
class Transport(Protocol):
    """Sends requests to one server, over pooled connections."""

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request and wait for the head of its response, whatever the status.

        Raises:
            ConnectError: If connecting failed, so that the server cannot have seen the request.
            DeadlineError: If no response arrived in time.
            ProtocolError: If the connection was lost, or the response is not HTTP: the server may have seen
                the request.
            ClosedError: If the transport is closed.
        """
        ...

    async def close(self) -> None:
        """Close all connections. Closing twice does nothing."""
        ...


class TlsSource(Protocol):
    """The source of a transport's TLS contexts."""

    async def context(self) -> ssl.SSLContext:
        """The current TLS context: the same object as before, until certificates change.

        Raises:
            AuthError: If a certificate or key cannot be read.
            ConfigError: If the CA certificate cannot be read.
        """
        ...
