"""Connections of clients: order, framing, limits of time and number, and switches of protocols."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import weakref
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from masthead.testing.virtual_time import LoopClock, in_virtual_time, now
from masthead_server.stream import send_body
from masthead_server.web.response import Response
from masthead_server.web.server import HttpServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from masthead_server.web.connection import HttpConnection
    from masthead_server.web.request import Request

LONG = 32 * 1024 * 1024
"""Bytes of a response that no socket holds."""
STEP = 2 * 1024 * 1024
LOGGER = logging.getLogger("tests.web")


class Client:
    """A client that writes and reads bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *requests: str | bytes) -> None:
        for request in requests:
            self.writer.write(request if isinstance(request, bytes) else ask(request))

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Read one response; its body has a length, chunks, or neither."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.rstrip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readline(), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readline()
        elif "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
        return int(first.split()[1]), headers, body

    async def rest(self) -> bytes:
        """Read until the server closes the connection, whichever way."""
        try:
            return await self.reader.read(-1)
        except ConnectionResetError:
            return b""


def ask(path: str, *headers: str, method: str = "GET", version: str = "1.1", body: str = "") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: h", *headers, "", body]).encode()


@asynccontextmanager
async def serving(handle: Callable[[Request], Awaitable[None]]) -> AsyncIterator[tuple[HttpServer, Client]]:
    server = HttpServer(handle, clock=LoopClock(), logger=LOGGER)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
    try:
        yield server, Client(reader, writer)
    finally:
        writer.close()
        listening.close()
        await server.shut_down(1)


async def echo(request: Request) -> None:
    """Respond with the path and the body."""
    body = b"".join([piece async for piece in request.body])
    await request.send(Response(200, request.path.encode() + body))


def send_little_ahead(request: Request) -> None:
    """Let the kernel take little of a response before the client reads."""
    transport = request.connection.transport
    assert transport is not None
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


async def send_whole(request: Request) -> None:
    send_little_ahead(request)
    await request.send(Response(200, b"x" * LONG))


async def send_in_pieces(request: Request) -> None:
    send_little_ahead(request)
    await send_body(request, 200, (), b"x" * LONG)


async def ignore_body(request: Request) -> None:
    await request.send(Response(200, request.path.encode()))


@in_virtual_time
async def test_pipelined_requests_are_answered_in_order() -> None:
    gates = {"/a": asyncio.Event(), "/b": asyncio.Event()}
    started: list[str] = []

    async def handle(request: Request) -> None:
        started.append(request.path)
        await gates[request.path].wait()
        await request.send(Response(200, request.path.encode()))

    async with serving(handle) as (_, client):
        client.send("/a", "/b")
        await asyncio.sleep(1)
        assert started == ["/a"]
        gates["/b"].set()
        gates["/a"].set()
        assert [(await client.response())[2] for _ in range(2)] == [b"/a", b"/b"]


@in_virtual_time
@pytest.mark.parametrize("send", [send_whole, send_in_pieces])
async def test_a_client_that_reads_nothing_for_a_minute_is_disconnected(
    send: Callable[[Request], Awaitable[None]],
) -> None:
    async with serving(send) as (server, client):
        client.send("/")
        start = now()
        await client.reader.readuntil(b"\r\n\r\n")
        while server.connections:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(1)
        assert 60 <= now() - start < 63
        assert len(await client.rest()) < LONG


@in_virtual_time
async def test_a_client_that_reads_slowly_gets_all_of_a_large_response() -> None:
    async with serving(send_in_pieces) as (_, client):
        client.send("/")
        await client.reader.readuntil(b"\r\n\r\n")
        for _ in range(LONG // STEP):
            await asyncio.sleep(40)
            assert len(await client.reader.readexactly(STEP)) == STEP
        assert now() > 300


@in_virtual_time
async def test_bodies_of_pipelined_requests_reach_their_own_handlers() -> None:
    async with serving(echo) as (_, client):
        client.send(
            ask("/a", "Content-Length: 2", method="POST", body="12"),
            ask("/b", "Transfer-Encoding: chunked", method="PUT", body="1\r\n3\r\n0\r\n\r\n"),
            ask("/c"),
        )
        assert [(await client.response())[2] for _ in range(3)] == [b"/a12", b"/b3", b"/c"]


@in_virtual_time
async def test_a_client_that_pipelines_endlessly_is_disconnected() -> None:
    async def never(_: Request) -> None:
        await asyncio.Event().wait()

    async with serving(never) as (server, client):
        client.send(ask("/") * 1_500)
        assert await client.rest() == b""
        assert server.heads.used == 0


@in_virtual_time
async def test_a_head_has_32_seconds_however_its_bytes_trickle_in() -> None:
    async with serving(echo) as (server, client):
        for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100:
            client.send(bytes((byte,)))
            await asyncio.sleep(1)
            if client.reader.at_eof() or not server.connections:
                break
        assert await client.rest() == b""
        assert 31 <= now() <= 34


@in_virtual_time
async def test_a_head_that_begins_during_a_long_request_has_no_more_time_than_others() -> None:
    async def slow(request: Request) -> None:
        await asyncio.sleep(100)
        await request.send(Response(200, b"done"))

    async with serving(slow) as (_, client):
        client.send("/")
        await asyncio.sleep(1)
        client.send(b"GET / HTTP/1.1\r\n")
        assert (await client.response())[2] == b"done"
        assert await client.rest() == b""
        assert 130 <= now() <= 134


@in_virtual_time
async def test_an_idle_connection_is_closed_after_an_hour() -> None:
    async with serving(echo) as (_, client):
        client.send("/a")
        await client.response()
        await asyncio.sleep(3_600)
        client.send("/b")
        assert (await client.response())[2] == b"/b"
        await client.rest()
        assert 7_200 < now() < 7_300


@in_virtual_time
async def test_a_client_that_leaves_cancels_the_handler() -> None:
    ended = asyncio.Event()

    async def wait(_: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(wait) as (server, client):
        client.send("/")
        await asyncio.sleep(1)
        client.writer.close()
        await ended.wait()
        await asyncio.sleep(1)
        assert not server.connections


@in_virtual_time
async def test_a_client_that_leaves_is_noticed_behind_a_large_body_that_nobody_reads() -> None:
    ended = asyncio.Event()

    async def follow(request: Request) -> None:
        try:
            await request.stream(200, [])
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(follow) as (_, client):
        client.send(ask("/", "Content-Length: 1000000"), b"x" * 1_000_000)
        await client.reader.readuntil(b"\r\n\r\n")
        client.writer.close()
        await ended.wait()


@in_virtual_time
async def test_other_tasks_run_between_pipelined_requests() -> None:
    turns = 0
    at_requests: list[int] = []

    async def handle(request: Request) -> None:
        at_requests.append(turns)
        await request.send(Response(200))

    async def count_turns() -> None:
        nonlocal turns
        while len(at_requests) < 3:
            turns += 1
            await asyncio.sleep(0)

    async with serving(handle) as (_, client):
        upgrade = ask("/", "Connection: Upgrade", "Upgrade: x")
        client.send(upgrade, upgrade, upgrade)
        await count_turns()
        assert len(set(at_requests)) == 3


async def test_a_closed_connection_needs_no_garbage_collector() -> None:
    seen: list[weakref.ref[HttpConnection]] = []

    async def handle(request: Request) -> None:
        seen.append(weakref.ref(request.connection))
        await echo(request)

    gc.collect()
    gc.disable()
    try:
        async with serving(handle) as (_, client):
            client.send(ask("/", "Connection: close"))
            assert (await client.rest()).endswith(b"/")
            for _ in range(5):  # turns of the loop until the transport is closed
                await asyncio.sleep(0)
        del client
        await asyncio.sleep(0)
        assert [reference() for reference in seen] == [None]
    finally:
        gc.enable()


@in_virtual_time
async def test_a_body_that_nobody_reads_is_dropped_and_the_next_request_served() -> None:
    async with serving(ignore_body) as (_, client):
        client.send(ask("/a", "Content-Length: 1000000", method="POST"), b"x" * 1_000_000, ask("/b"))
        assert (await client.response())[2] == b"/a"
        assert (await client.response())[2] == b"/b"


@in_virtual_time
async def test_a_body_that_nobody_reads_and_that_never_ends_is_not_waited_for() -> None:
    async with serving(ignore_body) as (_, client):
        client.send(ask("/a", "Content-Length: 1000000", method="POST"))
        assert (await client.response())[2] == b"/a"
        await client.rest()
        assert now() <= 11


@in_virtual_time
async def test_a_client_sends_its_body_once_it_is_told_to() -> None:
    async with serving(echo) as (_, client):
        client.send(ask("/a", "Expect: 100-continue", "Content-Length: 2", method="POST"))
        assert (await client.response())[0] == 100
        client.send(b"hi")
        assert (await client.response())[2] == b"/ahi"


@in_virtual_time
async def test_the_connection_ends_if_a_client_was_not_told_to_send_its_body() -> None:
    async with serving(ignore_body) as (_, client):
        client.send(ask("/a", "Expect: 100-continue", "Content-Length: 2", method="POST"))
        _, headers, body = await client.response()
        assert (headers["connection"], body) == ("close", b"/a")
        assert await client.rest() == b""


@in_virtual_time
async def test_a_malformed_request_is_refused_behind_the_responses_before_it() -> None:
    async with serving(echo) as (_, client):
        client.send("/a", b"BAD\r\n\r\n", "/b")
        assert (await client.response())[2] == b"/a"
        refusal = await client.rest()
        assert refusal.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert refusal.count(b"HTTP/1.1") == 1


async def test_a_refused_client_may_have_gone_away() -> None:
    problems: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    async with serving(echo) as (server, client):
        client.send("/")
        await client.response()
        # Both at once, so that the server reads the request before it learns of the end.
        with socket.create_connection(client.writer.get_extra_info("peername")) as leaving:
            leaving.sendall(b"malformed\r\n\r\n")
        for _ in range(20):  # turns of the loop until the request is refused
            await asyncio.sleep(0)
        assert len(server.connections) == 1
    gc.collect()
    assert problems == []


@in_virtual_time
async def test_a_response_may_quote_a_header_that_is_no_utf_8() -> None:
    async def quote(request: Request) -> None:
        await request.send(Response.of_text(400, f"unknown {request.headers.get('Upgrade')}"))

    async with serving(quote) as (_, client):
        client.send(b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: a\xff\r\n\r\n")
        code, _, body = await client.response()
        assert (code, body) == (400, b"unknown a?")


@in_virtual_time
async def test_a_malformed_body_fails_its_reader_and_ends_the_connection() -> None:
    failures: list[Exception] = []

    async def handle(request: Request) -> None:
        try:
            await echo(request)
        except ConnectionError as error:
            failures.append(error)
            await request.send(Response(400))

    async with serving(handle) as (_, client):
        client.send(ask("/a", "Transfer-Encoding: chunked", method="POST", body="1\r\nx\r\nzz"))
        code, headers, _ = await client.response()
        assert (code, headers["connection"], len(failures)) == (400, "close", 1)
        assert await client.rest() == b""


@pytest.mark.parametrize("protocol", ["h2c", "websocket", "tcp"])
def test_bytes_behind_an_upgrade_that_is_not_granted_are_requests(protocol: str) -> None:
    @in_virtual_time
    async def run() -> None:
        async with serving(echo) as (_, client):
            upgrade = ("Connection: Upgrade", f"Upgrade: {protocol}")
            client.send(ask("/a", *upgrade), ask("/b", *upgrade, "Content-Length: 3", method="POST", body="xyz"), "/c")
            assert [(await client.response())[2] for _ in range(3)] == [b"/a", b"/bxyz", b"/c"]

    run()


@in_virtual_time
async def test_bytes_that_come_with_an_upgrade_belong_to_the_new_protocol() -> None:
    async def handle(request: Request) -> None:
        stream = await request.switch([("Upgrade", "shout")])
        while data := await stream.receive():
            await stream.send(bytes(data).upper())
            if b"." in bytes(data):
                return

    async with serving(handle) as (_, client):
        client.send(ask("/", "Connection: Upgrade", "Upgrade: shout"), b"he")
        code, headers, _ = await client.response()
        assert (code, headers["upgrade"], headers["connection"]) == (101, "shout", "Upgrade")
        client.send(b"llo.")
        assert await client.rest() == b"HELLO."


@in_virtual_time
async def test_a_body_does_not_pass_for_bytes_of_the_new_protocol() -> None:
    async def handle(request: Request) -> None:
        stream = await request.switch([("Upgrade", "shout")])
        await stream.send(bytes(await stream.receive()).upper())

    async with serving(handle) as (_, client):
        client.send(ask("/", "Connection: Upgrade", "Upgrade: shout", "Content-Length: 300000"), b"x" * 200_000)
        await asyncio.sleep(1)
        client.send(b"x" * 100_000 + b"hello")
        assert (await client.response())[0] == 101
        assert await client.rest() == b"HELLO"


@in_virtual_time
async def test_a_switch_of_protocols_does_not_wait_for_a_body_that_never_ends() -> None:
    async def handle(request: Request) -> None:
        await request.switch([("Upgrade", "x")])

    async with serving(handle) as (_, client):
        client.send(ask("/", "Connection: Upgrade", "Upgrade: x", "Content-Length: 3"), b"xy")
        assert await client.rest() == b""
        assert now() <= 11


@in_virtual_time
async def test_upgrades_that_are_not_granted_are_parsed_one_after_the_other_whatever_their_sizes() -> None:
    sizes = [0, 3_900, 4_096, 10_000, 70_000, 1] * 3
    async with serving(echo) as (_, client):
        for size in sizes:
            head = ask(f"/{size}", "Connection: Upgrade", "Upgrade: x", f"X: {'y' * size}", f"Content-Length: {size}")
            client.send(head, b"z" * size)
        for size in sizes:
            assert (await client.response())[2] == f"/{size}".encode() + b"z" * size


@in_virtual_time
async def test_bytes_before_an_answer_to_an_upgrade_are_limited() -> None:
    async def never(_: Request) -> None:
        await asyncio.Event().wait()

    async with serving(never) as (_, client):
        client.send(ask("/", "Connection: Upgrade", "Upgrade: x"), b"x" * 2_000_000)
        assert await client.rest() == b""


@in_virtual_time
async def test_a_handler_that_fails_is_logged_and_answered_with_500(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: Request) -> None:
        raise RuntimeError("secret")

    async with serving(fail) as (_, client):
        client.send("/a", "/b")
        code, _, body = await client.response()
        assert (code, body) == (500, b"500 Internal Server Error")
        assert await client.rest() == b""
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@in_virtual_time
async def test_no_header_of_a_response_can_start_another(caplog: pytest.LogCaptureFixture) -> None:
    async def inject(request: Request) -> None:
        await request.send(Response(200, headers=[("X", "a\r\nSet-Cookie: b")]))

    async with serving(inject) as (_, client):
        client.send("/")
        assert (await client.response())[0] == 500
    assert "line break" in caplog.text


@in_virtual_time
async def test_a_body_that_is_shorter_than_announced_ends_the_connection() -> None:
    async def handle(request: Request) -> None:
        stream = await request.stream(200, [], length=10)
        await stream.write(b"12345")
        await stream.finish()

    async with serving(handle) as (_, client):
        client.send("/", "/")
        assert (await client.rest()).endswith(b"\r\n\r\n12345")


@in_virtual_time
async def test_no_more_is_sent_than_announced() -> None:
    async def handle(request: Request) -> None:
        stream = await request.stream(200, [], length=3)
        await stream.write(b"12345")
        await stream.finish()

    async with serving(handle) as (_, client):
        client.send("/", "/")
        assert [(await client.response())[2] for _ in range(2)] == [b"123", b"123"]


@pytest.mark.parametrize(
    ("method", "version", "code", "framing", "is_open"),
    [
        ("GET", "1.1", 200, {"transfer-encoding": "chunked"}, True),
        ("GET", "1.0", 200, {"connection": "close"}, False),
        ("HEAD", "1.1", 200, {}, True),
        ("GET", "1.1", 204, {}, True),
        ("GET", "1.1", 304, {}, True),
    ],
)
def test_the_framing_of_a_stream_fits_the_request(
    method: str, version: str, code: int, framing: dict[str, str], is_open: bool
) -> None:
    @in_virtual_time
    async def run() -> None:
        async def handle(request: Request) -> None:
            stream = await request.stream(code, [])
            await stream.write(b"body")
            await stream.finish()

        async with serving(handle) as (_, client):
            client.send(ask("/", method=method, version=version))
            found, headers, body = await client.response()
            del headers["date"]
            assert (found, headers) == (code, framing)
            assert body == (b"body" if "transfer-encoding" in framing else b"")
            if is_open:
                client.send(ask("/", method=method, version=version))
                assert (await client.response())[0] == code
            else:
                assert await client.rest() == b"body"

    run()


@in_virtual_time
async def test_http_1_0_may_ask_for_another_request() -> None:
    async with serving(echo) as (_, client):
        client.send(ask("/a", "Connection: keep-alive", version="1.0"))
        _, headers, _ = await client.response()
        assert headers["connection"] == "keep-alive"
        client.send(ask("/b", version="1.0"))
        assert (await client.rest()).endswith(b"/b")


@in_virtual_time
async def test_head_tells_the_length_of_what_get_would_return() -> None:
    async with serving(echo) as (_, client):
        client.send(ask("/abc", method="HEAD"), ask("/x", "Connection: close"))
        head, _, rest = (await client.rest()).partition(b"\r\n\r\n")
        assert b"Content-Length: 4" in head
        assert rest.startswith(b"HTTP/1.1 200")


@in_virtual_time
async def test_a_server_that_stops_lets_the_present_request_be_answered() -> None:
    begun = asyncio.Event()

    async def slow(request: Request) -> None:
        begun.set()
        await asyncio.sleep(2)
        await request.send(Response(200, b"done"))

    async with serving(slow) as (server, client):
        client.send("/a", "/b")
        await begun.wait()
        await server.shut_down(5)
        assert (await client.response())[2] == b"done"
        assert await client.rest() == b""
        assert now() == pytest.approx(2, abs=0.1)


@in_virtual_time
async def test_a_server_that_stops_waits_for_no_handler_that_hangs() -> None:
    async def hang(_: Request) -> None:
        await asyncio.Event().wait()

    async with serving(hang) as (server, client):
        client.send("/")
        await asyncio.sleep(1)
        await server.shut_down(5)
        assert await client.rest() == b""
        assert now() == pytest.approx(6, abs=0.1)


@in_virtual_time
async def test_any_number_of_writers_wait_for_a_client_that_does_not_read() -> None:
    sent = 0

    async def handle(request: Request) -> None:
        stream = await request.switch([("Upgrade", "x")])

        async def flood() -> None:
            nonlocal sent
            for _ in range(100):
                await stream.send(b"x" * 100_000)
                sent += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(flood())

    async with serving(handle) as (_, client):
        client.send(ask("/", "Connection: Upgrade", "Upgrade: x"))
        await asyncio.sleep(10)
        assert sent < 200
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101")
        assert len(await client.rest()) == 300 * 100_000
