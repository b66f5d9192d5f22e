"""Requests to other servers, to webhooks and through proxies: one connection per request."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from masthead_server.web.byte_stream import TargetConnection
from masthead_server.web.headers import Headers
from masthead_server.web.response import has_no_body

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable

__all__ = ["ClientResponse", "MalformedResponseError", "TruncatedResponseError", "dial", "encode_request", "exchange"]

_MAX_HEAD: Final = 64 * 1024
"""Bytes of the head of a response."""
_MAX_LINE: Final = 1024
"""Bytes of the first line of a malformed response that are kept."""
_FINAL: Final = 200
_MAX_QUEUED: Final = 32 * 1024 * 1024
"""Bytes that may wait for a reader; one that reads at once leaves a few hundred KB."""


class MalformedResponseError(Exception):
    """What a server sent is no HTTP response.

    Attributes:
        line: Its first line, if that is no status line.
    """

    def __init__(self, problem: str, line: str = "") -> None:
        super().__init__(problem)
        self.line = line


class TruncatedResponseError(Exception):
    """A server has closed the connection before the response was complete."""


class ClientResponse:
    """A response whose head has arrived; iterating over it reads the body. `exchange` makes one.

    Args:
        connection: Where it comes from.
        method: The method of the request.

    Attributes:
        code: The status code.
        reason: The text behind it.
        headers: The headers.
    """

    def __init__(self, connection: TargetConnection, method: str) -> None:
        self.code = 0
        self.reason = ""
        self.headers = Headers()
        self._connection = connection
        self._method = method
        self._llhttp: HttpResponseParser | None = HttpResponseParser(self)
        self._fields: list[tuple[str, str]] = []
        self._head_size = 0
        self._pieces: list[bytes] = []
        self._is_complete = False

    async def read_head(self) -> None:
        """Read the head.

        Raises:
            MalformedResponseError: If it is invalid.
            TruncatedResponseError: If the connection ends first.
        """
        while not self.code:
            if self._head_size > _MAX_HEAD:
                raise MalformedResponseError("the head is too long")
            await self._read_more()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the pieces of the body.

        Raises:
            MalformedResponseError: If its framing is invalid.
            TruncatedResponseError: If the connection ends before it.
        """
        while True:
            pieces, self._pieces = self._pieces, []
            for piece in pieces:
                yield piece
            if self._is_complete:
                return
            await self._read_more()

    def close(self) -> None:
        """Release llhttp, to break the reference cycle with it."""
        self._llhttp = None

    async def _read_more(self) -> None:
        # A reset after the last byte is as good as an end.
        try:
            data = await self._connection.read()
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        if not self.code:
            self._head_size += len(data)
        assert self._llhttp is not None
        try:
            self._llhttp.feed_data(data)
        except HttpParserUpgrade:
            raise MalformedResponseError("a switch of protocols that nobody asked for") from None
        except HttpParserError as error:
            if not self._is_complete:  # whatever follows a complete response
                line = b"" if self._fields or self.code else bytes(data[:_MAX_LINE]).partition(b"\n")[0].rstrip(b"\r")
                raise MalformedResponseError(str(error), line.decode("utf-8", "replace")) from None

    def _end(self) -> None:
        """The connection has ended, and with it a body of unknown length."""
        if not self.code or "content-length" in self.headers or "transfer-encoding" in self.headers:
            raise TruncatedResponseError
        self._is_complete = True

    # Called by llhttp:

    def on_status(self, piece: bytes) -> None:
        """A part of the text behind the code has arrived."""
        if not self.code:
            self.reason += piece.decode("utf-8", "surrogateescape")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has arrived, or a trailer, which is ignored."""
        if not self.code:
            pair = name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")
            self._fields.append(pair)

    def on_headers_complete(self) -> None:
        """A head is complete, perhaps that of an informational response."""
        if self.code or self._llhttp is None:
            return
        code = self._llhttp.get_status_code()
        if code < _FINAL:
            self.reason = ""
            self._fields.clear()
            return
        self.code, self.headers = code, Headers(self._fields)
        # llhttp does not know the method, and would wait for the body.
        self._is_complete = has_no_body(self._method, code)

    def on_body(self, piece: bytes) -> None:
        """Bytes of the body have arrived."""
        if not self._is_complete:
            self._pieces.append(piece)

    def on_message_complete(self) -> None:
        """The response is complete."""
        if self.code:
            self._is_complete = True


def encode_request(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Encode the head of a request, which ends the connection."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


@asynccontextmanager
async def exchange(
    connection: TargetConnection, method: str, head: bytes, body: AsyncIterable[bytes] | None = None
) -> AsyncGenerator[ClientResponse]:
    """Send a request, and read the response during the block; then the connection is closed.

    Args:
        connection: Where to send it.
        method: Its method.
        head: Its head.
        body: Its body, with the framing that the head announces.

    Raises:
        MalformedResponseError: If the response is invalid.
        TruncatedResponseError: If the connection ends first.
    """
    response = ClientResponse(connection, method)
    sending: asyncio.Task[None] | None = None
    try:
        with suppress(OSError):  # the server may have responded before it hung up
            await connection.write(head)
            if body is not None:
                # While the response is read: it may come first.
                sending = asyncio.get_running_loop().create_task(_send(connection, body))
        await response.read_head()
        yield response
    finally:
        response.close()
        connection.release()
        if sending is not None:
            sending.cancel()
            await asyncio.wait([sending])


async def _send(connection: TargetConnection, body: AsyncIterable[bytes]) -> None:
    try:
        async for piece in body:
            await connection.write(piece)
    except Exception:  # noqa: BLE001 - the body cannot be read, or not be sent: the server must not wait for the rest
        connection.release()


async def dial(
    host: str, port: int, tls: ssl.SSLContext | None = None, server_name: str | None = None
) -> TargetConnection:
    """Connect to a server: to the first of its addresses that accepts.

    Nothing holds the server back: asyncio loses the last bytes of a TLS connection that ends while its reading is
    paused. So the caller has to read what comes, and to stop at a limit of its own.

    Raises:
        OSError: If there is no such host, or none of its addresses accepts.
    """
    loop = asyncio.get_running_loop()
    error: OSError | None = None
    for *_, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        try:
            _, connection = await loop.create_connection(
                partial(TargetConnection, _MAX_QUEUED),
                str(address[0]),
                port,
                ssl=tls,
                server_hostname=server_name or host if tls else None,
            )
        except OSError as failure:
            error = error or failure
        else:
            return connection
    raise error or OSError("no address")
