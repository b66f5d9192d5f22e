"""The HTTPS server of webhooks among hostile clients, in virtual time over real sockets."""

from __future__ import annotations

import asyncio
import ssl

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.unit.webhook.serving import Echo, TlsClient, certificates, post, serving

from masthead._endpoint import tls_listener
from masthead._webhook import server as server_module
from masthead._webhook.function_calls import CallTimeoutError, TooManyCallsError
from masthead._webhook.reviews import ReviewError
from masthead.metrics import PrometheusMetrics
from masthead.testing.virtual_time import in_virtual_time, now

LIMITS = server_module.LIMITS


class Raising(Echo):
    """A handler that raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def respond(self, body: bytes, limit: float) -> bytes:  # noqa: ARG002 - as in the protocol
        raise self.error


class Slow(Echo):
    """A handler that waits until it is released."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.release = asyncio.Event()

    async def respond(self, body: bytes, limit: float) -> bytes:  # noqa: ARG002 - as in the protocol
        self.begun.set()
        await self.release.wait()
        return body


@in_virtual_time
async def test_a_connection_serves_several_requests() -> None:
    async with serving() as (server, _):
        client = await TlsClient.connect(server.port)
        assert await client.post("/hook", b"{}") == (200, b"{}")
        assert await client.post("/hook", b"[]", content_type="application/json; charset=utf-8") == (200, b"[]")
        client.close()


@pytest.mark.parametrize(
    ("path", "limit"),
    [("/hook", b"10"), ("/hook?timeout=3s", b"3"), ("/hook?timeout=30s", b"10"), ("/hook?timeout=x", b"10")],
)
@in_virtual_time
async def test_the_shorter_timeout_counts(path: str, limit: bytes) -> None:
    async with serving() as (server, _):
        assert await post(server.port, path, b"") == (200, limit)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /hook HTTP/1.1\r\n\r\n", 405),
        (b"POST /other HTTP/1.1\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}", 404),
        (b"POST /hook HTTP/1.1\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\n{}", 415),
        (b"POST /hook HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 415),
        (b"POST /hook HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /hook HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /hook HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (b"POST /hook HTTP/1.1\r\nContent-Length: 9999999999999999999999\r\n\r\n", 400),
        (b"POST /hook HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"nonsense\r\n\r\n", 400),
        (b"POST /hook HTTP/1.1\r\n" + b"X: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (b"POST /hook HTTP/2.0\r\n\r\n", 505),
    ],
    ids=[
        *("method", "path", "text", "no type", "large", "negative", "two lengths", "huge", "chunked", "nonsense"),
        *("head", "version"),
    ],
)
@in_virtual_time
async def test_other_requests_are_refused(request_head: bytes, status: int) -> None:
    async with serving() as (server, failures):
        client = await TlsClient.connect(server.port)
        await client.send(request_head)
        assert (await client.response())[0] == status
        client.close()
        assert await post(server.port, "/hook", b"{}") == (200, b"{}")
        assert failures == []


@pytest.mark.parametrize(
    ("error", "status", "failures"),
    [
        (ReviewError("no review"), 400, []),
        (TooManyCallsError("busy"), 503, []),
        (CallTimeoutError("too slow"), 504, ["echo.example.com: CallTimeoutError: too slow"]),
        (ValueError("a secret"), 500, ["echo.example.com: ValueError: a secret"]),
    ],
    ids=["review", "busy", "timeout", "bug"],
)
@in_virtual_time
async def test_errors_have_their_status(error: Exception, status: int, failures: list[str]) -> None:
    async with serving(Raising(error)) as (server, reported):
        code, body = await post(server.port, "/hook", b"{}")
        assert (code, reported) == (status, failures)
        # The text reaches the client of the API server.
        assert b"secret" not in body


@in_virtual_time
async def test_a_body_that_does_not_arrive_ends_the_connection() -> None:
    async with serving() as (server, _):
        client = await TlsClient.connect(server.port)
        await client.send(b"POST /hook HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        assert await client.is_closed()
        assert now() == pytest.approx(LIMITS.body_timeout, abs=0.1)
        client.close()


@in_virtual_time
async def test_a_drip_of_bytes_does_not_extend_the_time_for_a_body() -> None:
    async with serving() as (server, _):
        client = await TlsClient.connect(server.port)
        await client.send(b"POST /hook HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n")
        for _ in range(20):
            if client.writer.is_closing():
                break
            client.writer.write(b"x")
            await asyncio.sleep(1)
        assert await client.is_closed()
        client.close()


@in_virtual_time
async def test_declared_bodies_that_do_not_arrive_do_not_lock_out_others() -> None:
    async with serving() as (server, _):
        size = LIMITS.max_body
        head = f"POST /hook HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode()
        silent = [await TlsClient.connect(server.port) for _ in range(2 * LIMITS.max_buffered // size)]
        for client in silent:
            await client.send(head)
        assert await post(server.port, "/hook", b"{}") == (200, b"{}")
        assert await post(server.port, "/hook", b" " * 1_000_000) == (200, b" " * 1_000_000)
        for client in silent:
            client.close()


@in_virtual_time
async def test_silent_connections_do_not_lock_out_others() -> None:
    async with serving() as (server, _):
        count = tls_listener.MAX_HANDSHAKES + 50
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(count)]
        assert await post(server.port, "/hook", b"{}") == (200, b"{}")
        for _, writer in silent:
            writer.transport.abort()


@in_virtual_time
async def test_a_handshake_has_a_time_limit() -> None:
    async with serving() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        assert await reader.read() == b""
        assert now() == pytest.approx(tls_listener.HANDSHAKE_TIMEOUT, abs=0.1)
        writer.close()


@in_virtual_time
async def test_plain_http_ends_the_handshake() -> None:
    async with serving() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /hook HTTP/1.1\r\n\r\n")
        assert b"HTTP" not in await reader.read()
        writer.close()
        assert await post(server.port, "/hook", b"{}") == (200, b"{}")


@in_virtual_time
async def test_clients_without_a_server_name_get_the_certificate() -> None:
    async with serving() as (server, _):
        context = ssl.create_default_context(cadata=certificates().bundle.decode())
        context.check_hostname = False
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context, server_hostname="")
        client = TlsClient(reader, writer)
        assert await client.post("/hook", b"{}") == (200, b"{}")
        client.close()


@in_virtual_time
async def test_running_calls_finish_when_the_server_closes() -> None:
    handler = Slow()
    async with serving(handler) as (server, _):
        idle, busy = await TlsClient.connect(server.port), await TlsClient.connect(server.port)
        call = asyncio.get_running_loop().create_task(busy.post("/hook", b"{}"))
        await handler.begun.wait()
        asyncio.get_running_loop().call_later(3, handler.release.set)
    assert await call == (200, b"{}")
    assert await idle.is_closed()
    with pytest.raises(OSError, match=r"."):
        await TlsClient.connect(server.port)
    idle.close()
    busy.close()


@in_virtual_time
async def test_calls_are_counted_by_controller_runtimes_names() -> None:
    registry = CollectorRegistry()
    async with serving(Echo(), metrics=PrometheusMetrics(registry), bad=Raising(ValueError())) as (server, _):
        await post(server.port, "/hook", b"{}")
        await post(server.port, "/bad", b"{}")
    text = generate_latest(registry).decode()
    assert 'controller_runtime_webhook_requests_total{code="200",webhook="echo.example.com"} 1.0' in text
    assert 'controller_runtime_webhook_requests_total{code="500",webhook="echo.example.com"} 1.0' in text
    assert 'controller_runtime_webhook_requests_in_flight{webhook="echo.example.com"} 0.0' in text
    assert 'controller_runtime_webhook_latency_seconds_count{webhook="echo.example.com"} 2.0' in text
