"""Servers and proxies of the smallest kind, which send exactly the bytes of a test."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trustme

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class ReceivedRequest:
    """A request as received over the wire."""

    line: str
    pairs: list[tuple[str, str]]
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.pairs)


@dataclass
class RunningServer:
    """A running server."""

    port: int
    connections: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def secure_url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[RunningServer]:
    """Run a handler for every connection, until the block ends."""
    served = RunningServer(0)
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        served.connections += 1
        served.writers.append(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await handler(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    served.port = server.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)
        for writer in served.writers:
            with suppress(AttributeError):  # of early 3.11, where what was closed has lost its protocol
                writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


async def receive(reader: asyncio.StreamReader) -> ReceivedRequest:
    """Read one request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line, *rest = head.rstrip("\r\n").split("\r\n")
    pairs = [(name.lower(), value.strip()) for name, _, value in (each.partition(":") for each in rest)]
    headers = dict(pairs)
    assert "transfer-encoding" not in headers  # all lengths are known
    return ReceivedRequest(line, pairs, await reader.readexactly(int(headers.get("content-length", "0"))))


def always(response: bytes, seen: list[ReceivedRequest] | None = None) -> Handler:
    """Send every request the same response."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await receive(reader)
            if seen is not None:
                seen.append(request)
            writer.write(response)
            await writer.drain()

    return handle


def once(response: bytes) -> Handler:
    """Respond to the first request, then close the connection."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(response)
        await writer.drain()

    return handle


async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accept the connection and never respond."""
    del reader, writer
    await asyncio.Event().wait()


def http_response(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """A complete response with a Content-Length."""
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status}\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def chunk(data: bytes) -> bytes:
    """One piece of a body that is sent in chunks."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class CertificateAuthority:
    """Issues certificates and provides TLS contexts that trust them."""

    def __init__(self) -> None:
        self._ca = trustme.CA()

    def server(self, *names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._ca.issue_cert(*names or ("127.0.0.1", "localhost")).configure_cert(context)
        return context

    def client(self) -> Tls:
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        return Tls(context)

    def require_certificates(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.verify_mode = ssl.CERT_REQUIRED
        self._ca.configure_trust(context)
        return context


@dataclass
class Tls:
    """A source of TLS settings that a test can change."""

    current: ssl.SSLContext

    async def context(self) -> ssl.SSLContext:
        return self.current


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward bytes until the end."""
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
    """Connect a client of a proxy with the server that it wants."""
    far_reader, far_writer = await asyncio.open_connection(host, port)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(pipe(reader, far_writer))
            group.create_task(pipe(far_reader, writer))
    finally:
        far_writer.close()
