"""Connections that cannot be made: the server has not seen the request, and the message advises what to do."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.servers import OK, CertificateAuthority, Tls, always, never, once, serving
from tests.unit.transport.test_proxies import SocksProxy

from masthead._transport.address import ServerAddress
from masthead._transport.contract import TransportRequest
from masthead._transport.dialer import Dialer
from masthead._transport.http import HttpTransport
from masthead._transport.sockets import SocketTracker
from masthead.errors import AuthError, ConnectError, ProtocolError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._transport.sockets import AddressInfo

GET = TransportRequest("GET", "/api?x=y", [("Authorization", "Bearer s3cret")])


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port without a listener, reserved so that none can appear."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


async def refusal(transport: HttpTransport, request: TransportRequest = GET) -> ConnectError:
    with pytest.raises(ConnectError) as caught:
        await transport.send(request)
    await transport.close()
    error = caught.value
    assert (error.verb, error.url) == ("GET", "/api")
    assert str(error).startswith("GET /api: ")
    assert "s3cret" not in f"{error} {error!r} {error.__cause__!r} {error.__context__!r}"
    assert error.__context__ is None
    return error


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_connecting_to_a_closed_port(closed_port: int, host: str) -> None:
    error = await refusal(HttpTransport(f"http://{host}:{closed_port}", tls=None))

    assert f"{host}:{closed_port} refused the connection; check that the API server runs there" in str(error)
    assert isinstance(error.__cause__, OSError)


async def test_an_unknown_host_name_is_an_error() -> None:
    error = await refusal(HttpTransport("https://cluster.invalid:6443", tls=None))

    assert "the name cluster.invalid cannot be resolved; check the address" in str(error)


@pytest.mark.parametrize("server", ["http://a..b", "http://" + "a" * 70 + ".example"])
async def test_an_invalid_host_name(server: str) -> None:
    error = await refusal(HttpTransport(server, tls=None))

    assert "check the address" in str(error)


async def test_an_invalid_tls_server_name(authority: CertificateAuthority) -> None:
    async with serving(always(OK), authority.server()) as server:
        error = await refusal(HttpTransport(server.secure_url, tls=authority.client(), server_name=".example"))

    assert "check the address, and tls-server-name" in str(error)


async def test_an_unroutable_address_does_not_block_the_others(closed_port: int) -> None:
    async with serving(always(OK)) as server:
        dialer = Dialer(ServerAddress.parse(server.url), "", None, SocketTracker(), 30.0)
        addresses: list[AddressInfo] = [
            (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))
            for port in (closed_port, closed_port, server.port, server.port, closed_port)
        ]
        with await dialer._race(addresses) as reached:
            assert reached.getpeername() == ("127.0.0.1", server.port)


async def test_a_server_is_found_whichever_of_its_addresses_it_listens_on() -> None:
    async with serving(always(OK)) as server:
        transport = HttpTransport(f"http://localhost:{server.port}", tls=None)

        assert await (await transport.send(GET)).read() == b"ok"
        await transport.close()


async def test_the_authority_is_not_trusted(authority: CertificateAuthority) -> None:
    async with serving(always(OK), authority.server()) as server:
        tls = Tls(ssl.create_default_context())
        error = await refusal(HttpTransport(server.secure_url, tls=tls))

    assert f"the certificate of 127.0.0.1:{server.port} is signed by an authority" in str(error)
    assert "set certificate-authority (ca_file, ca_data)" in str(error)


@pytest.mark.parametrize("name", ["kubernetes.example", "10.0.0.1"])
async def test_the_certificate_is_for_another_name(authority: CertificateAuthority, name: str) -> None:
    async with serving(always(OK), authority.server(name)) as server:
        error = await refusal(HttpTransport(server.secure_url, tls=authority.client()))

    assert "is for another name" in str(error)
    assert "set tls-server-name" in str(error)


async def test_the_tls_server_name_can_be_set(authority: CertificateAuthority) -> None:
    async with serving(always(OK), authority.server("kubernetes.example")) as server:
        transport = HttpTransport(server.secure_url, tls=authority.client(), server_name="kubernetes.example")

        assert await (await transport.send(GET)).read() == b"ok"
        await transport.close()


async def test_a_server_without_tls_is_an_error(authority: CertificateAuthority) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    async with serving(handle) as server:
        error = await refusal(HttpTransport(server.secure_url, tls=authority.client()))

    assert f"127.0.0.1:{server.port} does not speak TLS; perhaps its address begins with http://" in str(error)


async def test_a_close_during_the_tls_handshake_is_an_error(authority: CertificateAuthority) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort()

    async with serving(handle) as server:
        error = await refusal(HttpTransport(server.secure_url, tls=authority.client()))

    assert "closed the connection during the handshake" in str(error)


async def test_a_tls_handshake_that_stalls_exceeds_the_deadline(authority: CertificateAuthority) -> None:
    async with serving(never) as server:
        transport = HttpTransport(server.secure_url, tls=authority.client(), connect_timeout=0.05)
        error = await refusal(transport)

    assert f"no connection to 127.0.0.1:{server.port} within 0.05 s" in str(error)


async def test_a_server_that_requires_a_client_certificate_is_an_error(
    authority: CertificateAuthority,
) -> None:
    context = authority.require_certificates(authority.server())

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # By hand, since asyncio's server hangs up without sending the alert.
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        shaken = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            incoming.write(await reader.read(65536))
            try:
                shaken.do_handshake()
            except ssl.SSLWantReadError:
                writer.write(outgoing.read())
            except ssl.SSLError:
                writer.write(outgoing.read())
                await reader.read()
                return

    async with serving(handle) as server:
        transport = HttpTransport(server.secure_url, tls=authority.client())
        # In TLS 1.3 the refusal comes after the handshake, and the request may be on its way.
        with pytest.raises(ProtocolError, match="check client-certificate and client-key"):
            await transport.send(GET)
        await transport.close()


async def test_every_connection_is_in_use() -> None:
    async with serving(always(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as server:
        transport = HttpTransport(server.url, tls=None, connections=2, connect_timeout=0.05)
        streams = [await transport.send(GET) for _ in range(2)]
        error = await refusal(transport)
        del streams

    assert f"all 2 connections to 127.0.0.1:{server.port} were in use" in str(error)
    assert server.connections == 2


async def test_a_deadline_in_the_pool_is_reported_as_such() -> None:
    async with serving(always(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as server:
        transport = HttpTransport(server.url, tls=None, connections=1)
        held = await transport.send(GET)
        with pytest.raises(ConnectError, match="all 1 connections"):
            await transport.send(TransportRequest("GET", "/", timeout=0.05))
        held.close()
        await transport.close()


async def test_streams_take_no_connection_from_calls() -> None:
    async with serving(always(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as server:
        transport = HttpTransport(server.url, tls=None, connections=1)
        streams = [await transport.send(TransportRequest("GET", "/", read_timeout=60)) for _ in range(3)]
        call = await transport.send(GET)
        more = await transport.send(TransportRequest("GET", "/", read_timeout=60))
        with pytest.raises(ConnectError, match="all 1 connections"):
            await transport.send(TransportRequest("GET", "/", timeout=0.05))
        for each in (*streams, more, call):
            each.close()
        assert (await transport.send(GET)).status == 200
        await transport.close()

    assert server.connections == 6


async def test_a_connection_that_becomes_free_is_used() -> None:
    async with serving(always(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as server:
        transport = HttpTransport(server.url, tls=None, connections=1)
        first = await transport.send(GET)
        async with asyncio.TaskGroup() as group:
            second = group.create_task(transport.send(GET))
            await asyncio.sleep(0)
            first.close()

        assert second.result().status == 200
        await transport.close()


async def test_errors_of_the_tls_source_propagate() -> None:
    class Broken:
        async def context(self) -> ssl.SSLContext:
            raise AuthError("no certificate")

    transport = HttpTransport("https://127.0.0.1:1", tls=Broken())
    with pytest.raises(AuthError, match="no certificate"):
        await transport.send(GET)
    await transport.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_closes_after_accepting_a_tunnel_is_an_error(
    authority: CertificateAuthority, scheme: str
) -> None:
    context = authority.server() if scheme == "https" else None
    async with serving(once(b"HTTP/1.1 200 OK\r\n\r\n"), context) as through:
        transport = HttpTransport(
            "https://127.0.0.1:1", tls=authority.client(), proxy_url=f"{scheme}://127.0.0.1:{through.port}"
        )
        error = await refusal(transport)

    assert "127.0.0.1:1 closed the connection during the handshake" in str(error)


async def test_an_invalid_name_behind_socks_is_an_error() -> None:
    async with serving(SocksProxy().handle) as through:
        transport = HttpTransport("http://two..dots", tls=None, proxy_url=f"socks5://127.0.0.1:{through.port}")
        error = await refusal(transport)

    assert "two..dots:80 is not a valid name" in str(error)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse what their backlog cannot take")
@in_virtual_time
async def test_a_lost_packet_costs_less_than_the_pauses_of_the_system() -> None:
    with socket.socket() as listener, contextlib.ExitStack() as queued:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        listener.setblocking(False)
        for _ in range(3):  # the backlog is full: Linux drops what comes now, as a broken network does
            waiting = queued.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        port = listener.getsockname()[1]
        dialer = Dialer(ServerAddress.parse(f"http://127.0.0.1:{port}"), "", None, SocketTracker(), 30.0)

        async with asyncio.TaskGroup() as tasks:
            dialled = tasks.create_task(dialer._reach("127.0.0.1", port))
            await asyncio.sleep(10)
            assert not dialled.done()
            with contextlib.suppress(BlockingIOError):
                while True:  # the network is back
                    queued.enter_context(listener.accept()[0])
            began = now()
        queued.enter_context(dialled.result())
        assert now() - began <= 3
