"""The transport on uvloop, which implements sockets, TLS and TLS inside TLS differently."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.transport.servers import OK, CertificateAuthority, always, chunk, once, receive, serving
from tests.unit.transport.test_proxies import HttpProxy, SocksProxy

from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead.errors import ClosedError, ConnectError

uvloop = pytest.importorskip("uvloop")
GET = TransportRequest("GET", "/", timeout=30.0, read_timeout=10.0)


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


def run(work: object) -> None:
    assert asyncio.iscoroutine(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


@pytest.mark.parametrize("proxy", ["", "http", "https", "socks5"])
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_every_connection_path_reaches_the_server(authority: CertificateAuthority, proxy: str, *, secure: bool) -> None:
    async def work() -> None:
        handler = SocksProxy().handle if proxy == "socks5" else HttpProxy().handle
        context = authority.server() if proxy == "https" else None
        async with (
            serving(always(OK), authority.server() if secure else None) as server,
            serving(handler, context) as through,
        ):
            transport = HttpTransport(
                server.secure_url if secure else server.url,
                tls=authority.client(),
                proxy_url=f"{proxy}://127.0.0.1:{through.port}" if proxy else "",
            )
            assert [await (await transport.send(GET)).read() for _ in range(2)] == [b"ok", b"ok"]
            await transport.close()

    run(work())


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_a_stream_is_read_as_it_arrives_and_closing_wakes_its_reader(
    authority: CertificateAuthority, *, secure: bool
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"one"))
        await reader.read()

    async def work() -> None:
        async with serving(handle, authority.server() if secure else None) as server:
            transport = HttpTransport(server.secure_url if secure else server.url, tls=authority.client())
            stream = await transport.send(GET)
            assert await anext(stream.chunks()) == b"one"
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(_outcome(stream))
                await asyncio.sleep(0)
                await transport.close()
            assert isinstance(reading.result(), ClosedError)

    run(work())


def test_an_untrusted_certificate_is_an_error(authority: CertificateAuthority) -> None:
    async def work() -> None:
        async with serving(always(OK), CertificateAuthority().server()) as server:
            transport = HttpTransport(server.secure_url, tls=authority.client())
            with pytest.raises(ConnectError, match="signed by an authority that is not trusted"):
                await transport.send(GET)
            await transport.close()

    run(work())


def test_a_proxy_that_closes_after_accepting_is_an_error(authority: CertificateAuthority) -> None:
    async def work() -> None:
        async with serving(once(b"HTTP/1.1 200 OK\r\n\r\n"), authority.server()) as through:
            transport = HttpTransport(
                "https://127.0.0.1:1", tls=authority.client(), proxy_url=f"https://127.0.0.1:{through.port}"
            )
            with pytest.raises(ConnectError, match="closed the connection during the handshake"):
                await transport.send(GET)
            await transport.close()

    run(work())


async def _outcome(stream: object) -> object:
    try:
        return await stream.read()  # type: ignore[attr-defined]
    except ClosedError as error:
        return error
