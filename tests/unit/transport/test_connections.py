"""The connection pool: which connection a request uses, and when connections are closed."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, cast

import pytest
from tests.unit.transport.servers import (
    OK,
    CertificateAuthority,
    ReceivedRequest,
    always,
    never,
    receive,
    serving,
)

from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead._transport.pool import ConnectionPool
from masthead._transport.sockets import SocketTracker
from masthead.errors import ClosedError, ConnectError, DeadlineError, MastheadError, ProtocolError
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    import ssl

    from tests.unit.transport.servers import Handler

GET = TransportRequest("GET", "/")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


async def fetch(transport: HttpTransport, request: TransportRequest = GET) -> bytes:
    return await (await transport.send(request)).read()


async def test_requests_one_after_the_other_share_a_connection(authority: CertificateAuthority) -> None:
    async with serving(always(OK), authority.server()) as server:
        transport = HttpTransport(server.secure_url, tls=authority.client())
        for _ in range(5):
            assert await fetch(transport) == b"ok"
        await transport.close()

        assert server.connections == 1


def hang_on(target: str, received: asyncio.Event) -> Handler:
    """Respond to every request but those for a target."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (await receive(reader)).line != f"GET {target} HTTP/1.1":
            writer.write(OK)
        received.set()
        await reader.read()

    return handle


async def test_a_request_that_hangs_delays_no_other() -> None:
    received = asyncio.Event()
    async with serving(hang_on("/hang", received)) as server:
        transport = HttpTransport(server.url, tls=None)
        async with asyncio.TaskGroup() as tasks:
            hanging = tasks.create_task(transport.send(TransportRequest("GET", "/hang")))
            await received.wait()
            assert await fetch(transport) == b"ok"
            assert not hanging.done()
            hanging.cancel()
        await transport.close()

        assert server.connections == 2


async def test_a_connection_is_not_used_again_after_a_missed_deadline() -> None:
    async with serving(hang_on("/hang", asyncio.Event())) as server:
        transport = HttpTransport(server.url, tls=None)
        assert await fetch(transport) == b"ok"
        with pytest.raises(DeadlineError):
            await transport.send(TransportRequest("GET", "/hang", timeout=0.03))

        assert await fetch(transport) == b"ok"
        await transport.close()

        assert server.connections == 2


async def test_no_connection_is_made_before_the_first_request() -> None:
    async with serving(always(OK)) as server:
        transport = HttpTransport(server.url, tls=None)
        await transport.close()

        assert server.connections == 0


async def test_other_tls_settings_mean_another_connection(authority: CertificateAuthority) -> None:
    async with serving(always(OK), authority.server()) as server:
        tls = authority.client()
        transport = HttpTransport(server.secure_url, tls=tls)
        await fetch(transport)
        tls.current = authority.client().current
        await fetch(transport)
        await fetch(transport)
        await transport.close()

        assert server.connections == 2


async def test_a_stream_keeps_the_tls_settings_that_it_started_with(
    authority: CertificateAuthority,
) -> None:
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await receive(reader)).line.startswith("GET /stream"):
            writers.append(writer)
            writer.write(CHUNKED)
            await never(reader, writer)
        writer.write(OK)

    async with serving(handle, authority.server()) as server:
        tls = authority.client()
        transport = HttpTransport(server.secure_url, tls=tls)
        chunks = (await transport.send(TransportRequest("GET", "/stream"))).chunks()
        tls.current = authority.client().current
        await fetch(transport)
        writers[0].write(b"3\r\nstill\r\n"[:3] + b"one\r\n")

        assert await anext(chunks) == b"one"
        await transport.close()


async def test_an_idle_connection_with_old_tls_settings_is_closed_at_once(
    authority: CertificateAuthority,
) -> None:
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(OK)
        await reader.read()
        gone.set()

    async with serving(handle, authority.server()) as server:
        tls = authority.client()
        transport = HttpTransport(server.secure_url, tls=tls, idle=1000)
        await fetch(transport)
        tls.current = authority.client().current
        await fetch(transport)
        await gone.wait()
        await transport.close()


async def test_a_connection_with_old_tls_settings_is_not_kept_when_its_stream_ends(
    authority: CertificateAuthority,
) -> None:
    writers: list[asyncio.StreamWriter] = []
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await receive(reader)).line.startswith("GET /stream"):
            writers.append(writer)
            writer.write(CHUNKED)
            await reader.read()
            gone.set()
        writer.write(OK)

    async with serving(handle, authority.server()) as server:
        tls = authority.client()
        transport = HttpTransport(server.secure_url, tls=tls, idle=1000)
        stream = await transport.send(TransportRequest("GET", "/stream"))
        tls.current = authority.client().current
        await fetch(transport)
        writers[0].write(b"0\r\n\r\n")
        assert await stream.read() == b""
        await gone.wait()
        await transport.close()


async def test_old_connections_are_closed_when_they_were_idle_for_long(
    authority: CertificateAuthority,
) -> None:
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(OK)
        await reader.read()
        gone.set()

    async with serving(handle, authority.server()) as server:
        transport = HttpTransport(server.secure_url, tls=authority.client(), idle=0.02)
        await fetch(transport)
        await gone.wait()
        await transport.close()


def hang_up_on_the_second(seen: list[ReceivedRequest]) -> Handler:
    """Respond to a connection's first request, read the second, and close without a response."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await receive(reader))
        writer.write(OK)
        seen.append(await receive(reader))

    return handle


async def test_a_get_on_a_dying_connection_is_sent_again() -> None:
    seen: list[ReceivedRequest] = []
    async with serving(hang_up_on_the_second(seen)) as server:
        transport = HttpTransport(server.url, tls=None)
        await fetch(transport)

        assert await fetch(transport) == b"ok"
        await transport.close()

    assert (len(seen), server.connections) == (3, 2)


async def test_a_get_is_sent_again_once_only() -> None:
    seen: list[ReceivedRequest] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await receive(reader))
        if len(seen) == 1:
            writer.write(OK)
            seen.append(await receive(reader))

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        await fetch(transport)
        with pytest.raises(ProtocolError, match="closed the connection without a response"):
            await fetch(transport)
        await transport.close()

    assert (len(seen), server.connections) == (3, 2)


async def test_a_get_is_not_sent_again_on_a_new_connection() -> None:
    seen: list[ReceivedRequest] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        seen.append(await receive(reader))

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        with pytest.raises(ProtocolError, match="closed the connection without a response"):
            await fetch(transport)
        await transport.close()

    assert len(seen) == 1


async def test_a_get_is_not_sent_again_once_a_response_has_begun() -> None:
    seen: list[ReceivedRequest] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await receive(reader))
        writer.write(OK)
        seen.append(await receive(reader))
        writer.write(b"H")

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        await fetch(transport)
        with pytest.raises(ProtocolError, match="closed the connection without a response"):
            await fetch(transport)
        await transport.close()

    assert (len(seen), server.connections) == (2, 1)


async def test_unsolicited_bytes_close_an_idle_connection() -> None:
    gone = asyncio.Event()
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(OK)
        writers.append(writer)
        await reader.read()
        gone.set()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        await fetch(transport)
        writers[0].write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await gone.wait()

        assert await fetch(transport, TransportRequest("POST", "/")) == b"ok"
        await transport.close()

        assert server.connections == 2


async def test_a_response_before_the_end_of_the_request_is_read_and_ends_the_connection() -> None:
    gone = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        cast("asyncio.Transport", writer.transport).pause_reading()
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await gone.wait()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        response = await transport.send(TransportRequest("POST", "/", body=b"x" * 2**24))
        assert response.status == 413
        assert transport._pool is not None
        assert not transport._pool._idle
        gone.set()
        await transport.close()


async def test_waiters_get_connections_in_order() -> None:
    seen: list[ReceivedRequest] = []
    async with serving(always(OK, seen)) as server:
        transport = HttpTransport(server.url, tls=None, connections=1)
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(fetch(transport, TransportRequest("GET", f"/{number}")))
        await transport.close()

    assert [each.line.split()[1] for each in seen] == [f"/{number}" for number in range(10)]
    assert server.connections == 1


async def test_a_cancelled_waiter_does_not_block_others() -> None:
    loop = asyncio.get_running_loop()
    pool = ConnectionPool(loop, 1)
    assert await pool.enter(None, anew=False) is None
    async with asyncio.TaskGroup() as group:
        first, second, third = (group.create_task(pool.enter(None, anew=False)) for _ in range(3))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        pool.leave()
        second.cancel()  # its turn has come, but it does not know yet

    assert (first.cancelled(), second.cancelled(), third.done()) == (True, True, True)
    assert pool.is_full
    pool.leave()
    assert not pool.is_full


def test_another_event_loop_is_refused() -> None:
    transport = HttpTransport("http://127.0.0.1:1", tls=None)
    for kind, problem in ((ConnectError, "refused"), (RuntimeError, "belongs to another event loop")):
        with pytest.raises(kind, match=problem):
            asyncio.run(transport.send(GET))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_write_on_a_dying_connection_is_not_sent_again(method: str) -> None:
    seen: list[ReceivedRequest] = []
    async with serving(hang_up_on_the_second(seen)) as server:
        transport = HttpTransport(server.url, tls=None)
        await fetch(transport)
        with pytest.raises(ProtocolError, match="closed the connection without a response") as caught:
            await fetch(transport, TransportRequest(method, "/x", body=b"{}"))
        await transport.close()

    assert caught.value.__context__ is None
    assert (len(seen), server.connections) == (2, 1)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_connection_that_was_closed_while_idle_is_not_used(method: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(3):
            assert await fetch(transport, TransportRequest(method, "/")) == b"ok"
        await transport.close()

        assert server.connections == 3


def test_sockets_detect_a_dead_peer() -> None:
    address = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 1))
    with SocketTracker().open(address) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        for name, value in {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_USER_TIMEOUT": 25_000}.items():
            if hasattr(socket, name):
                assert made.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == value
        assert not made.getblocking()


async def test_a_closed_transport_sends_nothing() -> None:
    async with serving(always(OK)) as server:
        transport = HttpTransport(server.url, tls=None)
        await fetch(transport)
        await transport.close()
        await transport.close()

        with pytest.raises(ClosedError, match=f"the client of 127.0.0.1:{server.port} is closed"):
            await transport.send(GET)


@pytest.mark.parametrize("secure", [True, False], ids=["tls", "plain"])
async def test_closing_wakes_streams_and_requests(authority: CertificateAuthority, *, secure: bool) -> None:
    """One reads a stream, one waits for the head of a response, one for a free connection."""
    waiting = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await receive(reader)).line.startswith("GET /stream"):
            writer.write(CHUNKED)
        else:
            waiting.set()
        await reader.read()

    async with serving(handle, authority.server() if secure else None) as server:
        transport = HttpTransport(
            server.secure_url if secure else server.url,
            tls=authority.client() if secure else None,
            connections=2,
        )
        stream = await transport.send(TransportRequest("GET", "/stream"))
        async with asyncio.TaskGroup() as group:
            ends = [
                group.create_task(outcome(work))
                for work in (
                    stream.read(),
                    fetch(transport),
                    fetch(transport, TransportRequest("GET", "/third")),
                )
            ]
            await waiting.wait()
            await transport.close()

    assert [type(end.result()) for end in ends] == [ClosedError] * 3
    assert server.connections == 2


async def test_closing_while_a_connection_is_made_leaves_nothing_behind(
    authority: CertificateAuthority,
) -> None:
    connected = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await never(reader, writer)

    async with serving(handle) as server:
        transport = HttpTransport(server.secure_url, tls=authority.client(), connect_timeout=60)
        async with asyncio.TaskGroup() as group:
            end = group.create_task(outcome(transport.send(GET)))
            await connected.wait()
            await transport.close()

    assert isinstance(end.result(), ClosedError)


async def test_closing_while_tls_settings_are_waited_for_opens_nothing(
    authority: CertificateAuthority,
) -> None:
    requested, go = asyncio.Event(), asyncio.Event()

    class Slow:
        async def context(self) -> ssl.SSLContext:
            requested.set()
            await go.wait()
            return authority.client().current

    transport = HttpTransport("https://127.0.0.1:1", tls=Slow())
    async with asyncio.TaskGroup() as group:
        end = group.create_task(outcome(transport.send(GET)))
        await requested.wait()
        await transport.close()
        go.set()

    assert isinstance(end.result(), ClosedError)


async def test_nothing_lingers_after_closing_although_the_server_never_closes(
    authority: CertificateAuthority,
) -> None:
    """An abandoned TLS connection waits for the peer's close_notify, which never arrives here."""
    received = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        cast("asyncio.Transport", writer.transport).pause_reading()
        received.set()
        await never(reader, writer)

    async with serving(handle, authority.server()) as server:
        transport = HttpTransport(server.secure_url, tls=authority.client())
        async with asyncio.TaskGroup() as group:
            task = group.create_task(transport.send(GET))
            await received.wait()
            opened = list(transport._sockets._opened)
            task.cancel()
        await transport.close()

        assert [each.fileno() for each in opened] == [-1]


async def test_a_request_cancelled_during_close_stays_cancelled() -> None:
    async with serving(never) as server, asyncio.TaskGroup() as group:
        transport = HttpTransport(server.url, tls=None)
        task = group.create_task(transport.send(GET))
        await asyncio.sleep(0)
        task.cancel()
        await transport.close()

    assert task.cancelled()


@pytest.mark.parametrize("secure", [True, False], ids=["tls", "plain"])
async def test_a_cancelled_request_always_frees_its_slot(authority: CertificateAuthority, *, secure: bool) -> None:
    async with serving(always(OK), authority.server() if secure else None) as server:
        transport = HttpTransport(
            server.secure_url if secure else server.url, tls=authority.client(), connections=1, idle=1000
        )
        for turns in range(25):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(fetch(transport))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()

        assert await fetch(transport) == b"ok"
        assert transport._pool is not None
        assert len(transport._pool._open) == 1
        await transport.close()
        assert not transport._pool._open


async def outcome(work: object) -> object:
    assert asyncio.iscoroutine(work)
    try:
        return await work
    except MastheadError as error:
        return error


def keep_watches_silent() -> Handler:
    """Answer every request but watches, of which one gets a head, and then nothing."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await receive(reader)
            if "/lost" in request.line:
                await never(reader, writer)
            writer.write(CHUNKED if "/watch" in request.line else OK)

    return handle


async def leave_idle_connection(transport: HttpTransport) -> None:
    """Send a request, and let its connection be idle for longer than a moment."""
    assert await fetch(transport) == b"ok"
    await asyncio.sleep(2)


@in_virtual_time
async def test_idle_connections_are_closed_when_a_stream_falls_silent() -> None:
    async with serving(keep_watches_silent()) as server:
        transport = HttpTransport(server.url, tls=None)
        watch = await transport.send(TransportRequest("GET", "/watch", read_timeout=10))
        await leave_idle_connection(transport)
        with pytest.raises(DeadlineError):
            await anext(watch.chunks())
        assert await fetch(transport) == b"ok"
        await transport.close()

        assert server.connections == 3


@in_virtual_time
async def test_idle_connections_are_closed_when_an_unanswered_request_is_given_up() -> None:
    async with serving(keep_watches_silent()) as server:
        transport = HttpTransport(server.url, tls=None)
        async with asyncio.TaskGroup() as group:
            lost = group.create_task(transport.send(TransportRequest("GET", "/lost")))
            await asyncio.sleep(3)
            await leave_idle_connection(transport)
            lost.cancel()
        assert await fetch(transport) == b"ok"
        await transport.close()

        assert server.connections == 3


@in_virtual_time
async def test_a_connection_that_has_just_answered_survives_the_silence_of_another() -> None:
    async with serving(keep_watches_silent()) as server:
        transport = HttpTransport(server.url, tls=None)
        async with asyncio.TaskGroup() as group:
            lost = group.create_task(transport.send(TransportRequest("GET", "/lost")))
            await asyncio.sleep(5)
            assert await fetch(transport) == b"ok"
            lost.cancel()
        assert await fetch(transport) == b"ok"
        await transport.close()

        assert server.connections == 2


@in_virtual_time
async def test_closing_a_quiet_stream_closes_no_other_connection() -> None:
    async with serving(keep_watches_silent()) as server:
        transport = HttpTransport(server.url, tls=None)
        watch = await transport.send(TransportRequest("GET", "/watch", read_timeout=100))
        await leave_idle_connection(transport)
        await asyncio.sleep(10)
        watch.close()  # whoever closes a quiet stream says nothing about the network
        assert await fetch(transport) == b"ok"
        await transport.close()

        assert server.connections == 2
