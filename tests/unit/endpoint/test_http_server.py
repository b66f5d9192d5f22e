"""The HTTP server among hostile clients: bounded in bytes, connections and time, in virtual time over real sockets."""

from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

from masthead._endpoint import http_server
from masthead._endpoint.bind_address import BindAddress
from masthead._endpoint.http_limits import ServerLimits
from masthead._endpoint.http_requests import EndpointResponse, text_response
from masthead._endpoint.http_server import EndpointServer
from masthead.errors import ConfigError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from masthead._endpoint.http_requests import EndpointRequest

GET = b"GET /path HTTP/1.1\r\nHost: x\r\n\r\n"
LOOPBACK = BindAddress("127.0.0.1", 0)
LIMITS = ServerLimits()


async def echo(request: EndpointRequest) -> EndpointResponse:
    return text_response(f"{request.method} {request.path}")


def serving(handler: object = echo, bind: BindAddress = LOOPBACK) -> EndpointServer:
    return EndpointServer(handler, bind, "probes")  # type: ignore[arg-type]


class Client:
    """A connection on which a test writes raw bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, server: EndpointServer) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", server.port))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def response(self) -> tuple[int, bytes]:
        """Read one response."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        length = next(int(line.split()[1]) for line in lines if line.startswith("Content-Length"))
        return int(lines[0].split()[1]), await self.reader.readexactly(length)

    async def is_closed(self) -> bool:
        """Wait until the server has closed the connection."""
        try:
            return await self.reader.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.writer.transport.abort()


@in_virtual_time
async def test_a_connection_serves_several_requests() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        for _ in range(3):
            await client.send(GET)
            assert await client.response() == (200, b"GET /path")
        await client.send(b"GET /last HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert await client.response() == (200, b"GET /last")
        assert await client.is_closed()
        client.close()


@in_virtual_time
async def test_pipelined_requests_are_answered_in_order() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        await client.send(b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % number for number in range(50)))
        for number in range(50):
            assert await client.response() == (200, b"GET /%d" % number)
        client.close()


@in_virtual_time
async def test_a_head_request_has_no_body() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        await client.send(b"HEAD /path HTTP/1.1\r\nConnection: close\r\n\r\n")
        everything = await client.reader.read()
        assert b"Content-Length: 10\r\n" in everything
        assert everything.endswith(b"\r\n\r\n")
        client.close()


@in_virtual_time
async def test_a_request_that_came_in_pieces_is_answered() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        for byte in GET:
            await client.send(bytes([byte]))
            await asyncio.sleep(0.1)
        assert await client.response() == (200, b"GET /path")
        client.close()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"\r\n\r\n\r\n", 400),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 405),
        (b"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 413),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 16_400, 431),
    ],
)
def test_garbage_is_answered_and_the_connection_closed(data: bytes, status: int) -> None:
    @in_virtual_time
    async def run() -> None:
        async with serving() as server:
            client = await Client.connect(server)
            await client.send(data)
            assert (await client.response())[0] == status
            assert await client.is_closed()
            client.close()

    run()


@in_virtual_time
async def test_an_endless_header_is_not_buffered() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        sent = 0

        async def send() -> None:
            nonlocal sent
            while sent < 100_000_000:
                await client.send(b"a" * 65_536)
                sent += 65_536
                await asyncio.sleep(0)

        with pytest.raises(ConnectionError):
            await send()
        assert sent < 20_000_000  # what the kernel's buffers hold
        client.close()


@in_virtual_time
async def test_a_client_that_sends_a_byte_now_and_then_is_closed() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        await client.send(b"GET ")

        async def drip() -> None:
            while True:
                await asyncio.sleep(1)
                await client.send(b"x")

        dripping = asyncio.get_running_loop().create_task(drip())
        assert await client.is_closed()
        assert now() <= http_server.HEAD_TIMEOUT + 1
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)
        client.close()


@in_virtual_time
async def test_a_client_that_sends_nothing_is_closed() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        assert await client.is_closed()
        assert now() == pytest.approx(http_server.HEAD_TIMEOUT, abs=0.1)
        client.close()


@in_virtual_time
async def test_a_connection_survives_the_interval_between_scrapes() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        for _ in range(3):
            await client.send(GET)
            assert (await client.response())[0] == 200
            await asyncio.sleep(60)
        assert await client.is_closed()
        client.close()


@in_virtual_time
async def test_a_client_that_does_not_read_is_cut_off() -> None:
    began: list[float] = []

    async def large(request: EndpointRequest) -> EndpointResponse:
        del request
        began.append(now())
        return EndpointResponse(HTTPStatus.OK, b"x" * 50_000_000)

    async with serving(large) as server:
        raw = socket.create_connection(("127.0.0.1", server.port))
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_sendall(raw, GET)
        await asyncio.sleep(http_server.WRITE_TIMEOUT + 1)
        assert began
        assert not server._connections
        raw.close()


@in_virtual_time
async def test_clients_that_wait_do_not_keep_others_out() -> None:
    async with serving() as server:
        silent = [await Client.connect(server) for _ in range(LIMITS.few_connections)]
        for client in silent:
            await client.send(b"GET /")
        await asyncio.sleep(http_server.PATIENCE)
        for number in range(5):
            client = await Client.connect(server)
            await client.send(GET)
            assert await client.response() == (200, b"GET /path")
            assert await silent[number].is_closed()
            client.close()
        for client in silent:
            client.close()


@in_virtual_time
async def test_many_silent_clients_do_not_lock_out_others() -> None:
    async with serving() as server:
        silent = [await Client.connect(server) for _ in range(LIMITS.max_connections + 50)]
        for _ in range(5):
            client = await Client.connect(server)
            await client.send(GET)
            assert await client.response() == (200, b"GET /path")
            client.close()
        assert len(server._connections) <= LIMITS.max_connections
        assert await silent[0].is_closed()
        for client in silent:
            client.close()


@in_virtual_time
async def test_clients_that_do_not_read_do_not_keep_others_out() -> None:
    limits = ServerLimits(few_connections=4)

    async def large_or_small(request: EndpointRequest) -> EndpointResponse:
        size = 10_000_000 if request.path == "/large" else 2
        return EndpointResponse(HTTPStatus.OK, b"x" * size)

    async with EndpointServer(large_or_small, LOOPBACK, "probes", limits=limits) as server:
        lazy = [await Client.connect(server) for _ in range(limits.few_connections)]
        for client in lazy:
            client.reader._transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(b"GET /large HTTP/1.1\r\n\r\n")
        await asyncio.sleep(http_server.PATIENCE)
        client = await Client.connect(server)
        await client.send(GET)
        assert await client.response() == (200, b"xx")
        assert len(server._connections) == limits.few_connections
        for connection in (client, *lazy):
            connection.close()


@in_virtual_time
async def test_requests_beyond_the_connection_limit_are_rejected() -> None:
    release = asyncio.Event()

    async def wait(request: EndpointRequest) -> EndpointResponse:
        await release.wait()
        return await echo(request)

    async with serving(wait) as server:
        busy = [await Client.connect(server) for _ in range(LIMITS.max_connections)]
        for client in busy:
            await client.send(GET)
        await asyncio.sleep(0.1)
        one_more = await Client.connect(server)
        assert (await one_more.response())[0] == 503
        release.set()
        for client in busy:
            assert (await client.response())[0] == 200
            client.close()
        one_more.close()


@in_virtual_time
async def test_a_connection_ends_after_many_requests() -> None:
    async with serving() as server:
        client = await Client.connect(server)
        for _ in range(http_server.MAX_REQUESTS):
            await client.send(GET)
            assert (await client.response())[0] == 200
        assert await client.is_closed()
        client.close()


@in_virtual_time
async def test_a_handler_that_raises_costs_one_response(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: EndpointRequest) -> EndpointResponse:
        if request.path == "/bad":
            raise ZeroDivisionError
        return await echo(request)

    async with serving(handler) as server:
        client = await Client.connect(server)
        await client.send(b"GET /bad HTTP/1.1\r\n\r\n")
        assert (await client.response())[0] == 500
        await client.send(GET)
        assert (await client.response())[0] == 200
        client.close()
    assert "GET /bad failed" in caplog.text


@in_virtual_time
async def test_a_handler_that_hangs_is_given_up() -> None:
    async def hang(request: EndpointRequest) -> EndpointResponse:
        del request
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(hang) as server:
        client = await Client.connect(server)
        await client.send(GET)
        assert (await client.response())[0] == 503
        assert now() == pytest.approx(LIMITS.handler_timeout, abs=0.1)
        client.close()


@in_virtual_time
async def test_close_lets_a_response_finish() -> None:
    release = asyncio.Event()

    async def wait(request: EndpointRequest) -> EndpointResponse:
        await release.wait()
        return await echo(request)

    async with serving(wait) as server:
        busy, idle = await Client.connect(server), await Client.connect(server)
        await busy.send(GET)
        await asyncio.sleep(0.1)
        asyncio.get_running_loop().call_later(1, release.set)
    assert await busy.response() == (200, b"GET /path")
    assert await idle.is_closed()
    with pytest.raises(ConnectionRefusedError):
        await Client.connect(server)
    busy.close()
    idle.close()


@in_virtual_time
async def test_closing_does_not_wait_for_a_handler_that_hangs() -> None:
    async with serving(lambda _: asyncio.Event().wait()) as server:
        client = await Client.connect(server)
        await client.send(GET)
        await asyncio.sleep(0.1)
    assert now() <= LIMITS.close_timeout + 1
    assert await client.is_closed()
    client.close()


class Ticker:
    """A handler whose response never ends by itself."""

    def __init__(self) -> None:
        self.is_closed = asyncio.Event()

    async def respond(self, _: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(HTTPStatus.OK, b"", "text/event-stream", stream=self._pieces())

    async def _pieces(self) -> AsyncGenerator[bytes]:
        try:
            yield b"first\n"
            await asyncio.Event().wait()
        finally:
            self.is_closed.set()


async def test_a_stream_ends_when_its_client_leaves() -> None:
    ticker = Ticker()
    async with serving(ticker.respond) as server:
        client = await Client.connect(server)
        await client.send(GET)
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"Connection: close" in head
        assert b"Content-Length" not in head
        assert await client.reader.readexactly(6) == b"first\n"
        assert not ticker.is_closed.is_set()
        client.close()
        await ticker.is_closed.wait()


async def test_closing_does_not_wait_for_streams() -> None:
    ticker = Ticker()
    async with serving(ticker.respond) as server:
        client = await Client.connect(server)
        await client.send(GET)
        await client.reader.readuntil(b"first\n")
        begun = now()
    assert now() - begun < LIMITS.close_timeout
    assert ticker.is_closed.is_set()
    client.close()


async def test_a_stream_that_ends_closes_the_connection() -> None:
    async def short() -> AsyncGenerator[bytes]:
        yield b"all"

    async def respond(_: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(HTTPStatus.OK, b"", stream=short())

    async with serving(respond) as server:
        client = await Client.connect(server)
        await client.send(GET)
        assert (await client.reader.read()).endswith(b"\r\n\r\nall")
        client.close()


async def test_all_interfaces_share_one_free_port() -> None:
    async with serving(bind=BindAddress("", 0)) as server:
        assert server.port > 0
        for host in ("127.0.0.1", "::1") if socket.has_dualstack_ipv6() else ("127.0.0.1",):
            reader, writer = await asyncio.open_connection(host, server.port)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
            writer.close()


async def test_a_name_is_resolved() -> None:
    async with serving(bind=BindAddress("localhost", 0)) as server:
        client = await Client.connect(server)
        await client.send(GET)
        assert (await client.response())[0] == 200
        client.close()


@pytest.mark.parametrize("host", ["", "127.0.0.1", "localhost"])
async def test_a_port_that_is_taken_is_named_with_advice(host: str) -> None:
    async with serving(bind=BindAddress(host, 0)) as server:
        with pytest.raises(ConfigError, match=rf"probes: cannot listen on {host}:{server.port}: .*'0' for off"):
            async with serving(bind=BindAddress(host, server.port)):
                pass


async def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(ConfigError, match=r"probes: cannot listen on 192\.0\.2\.1:0"):
        async with serving(bind=BindAddress("192.0.2.1", 0)):
            pass
