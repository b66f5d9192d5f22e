"""A tunnel through an HTTP proxy, opened with ``CONNECT``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead._meta.secret import reveal
from masthead._transport.failures import DialError, detail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.secret import Secret
    from masthead._transport.proxy import Proxy

__all__ = ["Tunnel"]

_MAX_HEAD_BYTES: Final = 2**16
_END: Final = b"\r\n\r\n"
_AUTHENTICATION_REQUIRED: Final = 407


class Tunnel(asyncio.Protocol):
    """The exchange with a proxy that opens a tunnel.

    Args:
        loop: Its event loop.
        proxy: The proxy.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, proxy: Proxy) -> None:
        self._proxy = proxy
        self._received = bytearray()
        self._error: Exception | None = None
        self._over: asyncio.Future[None] = loop.create_future()

    async def open(self, transport: asyncio.WriteTransport, server: str, headers: Mapping[str, str | Secret]) -> None:
        """Open a tunnel to a server, ``host:port``.

        Raises:
            DialError: If the proxy does not connect.
        """
        transport.write(_head(server, headers))
        await self._over
        self._check_response(server)

    def data_received(self, data: bytes) -> None:
        """Bytes of the proxy's response."""
        self._received += data
        # A proxy that never ends its head must not fill the memory.
        if _END in self._received or len(self._received) > _MAX_HEAD_BYTES:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The proxy has closed the connection."""
        self._error = exc
        self._end()

    def _end(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    def _check_response(self, server: str) -> None:
        head, end, rest = bytes(self._received).partition(_END)
        place = self._proxy.place
        version, _, after = head.partition(b" ")
        status = after[:3]
        # Closed before the head was complete; a head that is too long is reported below.
        if not end and len(head) <= _MAX_HEAD_BYTES:
            error = self._error if isinstance(self._error, OSError) else None
            problem = f"the proxy {place} closed the connection{detail(error)}"
            raise DialError(f"{problem}; check that proxy-url is an HTTP proxy's", error)
        is_http = end and version.startswith(b"HTTP/1.") and status.isdigit()
        # In TLS the client speaks first, so bytes after the head of a 2xx are not the server's.
        if not is_http or (status[:1] == b"2" and rest):
            raise DialError(f"the proxy {place} does not speak HTTP; check proxy-url")
        if status[:1] != b"2":
            advice = "ask its operator, or connect without it"
            if int(status) == _AUTHENTICATION_REQUIRED:
                advice = "write proxy-url as http://user:password@host:port, with the right ones"
            refusal = f"the proxy {place} refused to connect to {server} (HTTP {int(status)})"
            raise DialError(f"{refusal}; {advice}")


def _head(server: str, headers: Mapping[str, str | Secret]) -> bytes:
    lines = "".join([f"{name}: {reveal(value)}\r\n" for name, value in headers.items()])
    return f"CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n{lines}\r\n".encode()
