"""Proxies: HTTP, HTTPS and SOCKS5, with and without a password, and their errors."""

from __future__ import annotations

import asyncio
import base64
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.servers import (
    OK,
    CertificateAuthority,
    ReceivedRequest,
    always,
    join,
    never,
    once,
    receive,
    serving,
)

from masthead._meta.secret import reveal
from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead._transport.proxy import Proxy
from masthead.errors import ClosedError, ConfigError, ConnectError, MastheadError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.transport.servers import RunningServer

USER, PASSWORD = "m:e@x", "s3cret/%"
SHOWN = "m%3Ae%40x:s3cret%2F%25@"
GET = TransportRequest("GET", "/api")


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority()


class HttpProxy:
    """Forwards plain requests, tunnels the others, and may require a password."""

    def __init__(self, refuse: str = "", *, locked: bool = False) -> None:
        self.seen: list[ReceivedRequest] = []
        self.refuse = refuse
        self.locked = locked

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        self.seen.append(request)
        expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.locked and request.headers.get("proxy-authorization") != expected:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        elif self.refuse:
            writer.write(f"HTTP/1.1 {self.refuse}\r\nContent-Length: 0\r\n\r\n".encode())
        elif request.line.startswith("CONNECT "):
            host, _, port = request.line.split()[1].rpartition(":")
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await join(reader, writer, host, int(port))
        else:
            writer.write(OK)
        await writer.drain()


class SocksProxy:
    """Speaks as much of SOCKS5 as a client may use, and may require a password."""

    def __init__(self, reply: int = 0, *, locked: bool = False, target: str = "") -> None:
        self.requested: list[str] = []
        self.reply = reply
        self.locked = locked
        self.target = target

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not await self._greet(reader, writer):
            return
        assert await reader.readexactly(3) == b"\x05\x01\x00"
        (kind,) = await reader.readexactly(1)
        if kind == 3:
            (length,) = await reader.readexactly(1)
            host = (await reader.readexactly(length)).decode()
        else:
            family, length = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
            host = socket.inet_ntop(family, await reader.readexactly(length))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.requested.append(f"{host}:{port}")
        writer.write(bytes([5, self.reply, 0, 3, 4]) + b"here" + b"\0\0")
        if not self.reply:
            await join(reader, writer, self.target or host, port)

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        if not self.locked:
            writer.write(b"\x05\x00")
            return True
        if 2 not in methods:
            writer.write(b"\x05\xff")
            return False
        writer.write(b"\x05\x02")
        user, password = USER.encode(), PASSWORD.encode()
        _, length = await reader.readexactly(2)
        given = await reader.readexactly(length), await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x01\x00" if given == (user, password) else b"\x01\x01")
        return given == (user, password)


@asynccontextmanager
async def a_server(
    authority: CertificateAuthority, *, secure: bool, names: tuple[str, ...] = ()
) -> AsyncIterator[RunningServer]:
    async with serving(always(OK), authority.server(*names) if secure else None) as server:
        yield server


async def fetch(transport: HttpTransport) -> bytes:
    try:
        return await (await transport.send(GET)).read()
    finally:
        await transport.close()


async def refusal(transport: HttpTransport) -> str:
    with pytest.raises(ConnectError) as caught:
        await fetch(transport)
    error = caught.value
    assert "s3cret" not in f"{error} {error!r} {error.__cause__!r} {error.__context__!r}"
    assert (error.verb, error.url) == ("GET", "/api")
    return str(error)


@pytest.mark.parametrize("locked", [False, True], ids=["open", "locked"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_an_https_server_is_reached_through_a_tunnel(
    authority: CertificateAuthority, scheme: str, *, locked: bool
) -> None:
    proxy = HttpProxy(locked=locked)
    async with (
        a_server(authority, secure=True) as server,
        serving(proxy.handle, authority.server() if scheme == "https" else None) as through,
    ):
        transport = HttpTransport(
            server.secure_url,
            tls=authority.client(),
            proxy_url=f"{scheme}://{SHOWN if locked else ''}127.0.0.1:{through.port}",
        )

        assert await (await transport.send(GET)).read() == b"ok"
        assert await fetch(transport) == b"ok"
        assert [each.line for each in proxy.seen] == [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"]
        assert server.connections == 1


async def test_credentials_for_the_server_do_not_reach_the_proxy(authority: CertificateAuthority) -> None:
    proxy = HttpProxy()
    async with a_server(authority, secure=True) as server, serving(proxy.handle) as through:
        transport = HttpTransport(server.secure_url, tls=authority.client(), proxy_url=through.url)
        await (await transport.send(TransportRequest("GET", "/", [("Authorization", "Bearer t")]))).read()
        await transport.close()

    assert "authorization" not in proxy.seen[0].headers


@pytest.mark.parametrize("locked", [False, True], ids=["open", "locked"])
async def test_plain_http_is_forwarded_by_the_proxy(*, locked: bool) -> None:
    proxy = HttpProxy(locked=locked)
    async with serving(proxy.handle) as through:
        place = f"{SHOWN if locked else ''}127.0.0.1:{through.port}"
        transport = HttpTransport("http://cluster.invalid", tls=None, proxy_url=f"http://{place}")

        assert await fetch(transport) == b"ok"

    assert proxy.seen[0].line == "GET http://cluster.invalid/api HTTP/1.1"


async def test_the_password_for_a_proxy_does_not_reach_the_server(authority: CertificateAuthority) -> None:
    seen: list[ReceivedRequest] = []
    proxy = HttpProxy(locked=True)
    async with serving(always(OK, seen), authority.server()) as server, serving(proxy.handle) as through:
        transport = HttpTransport(
            server.secure_url,
            tls=authority.client(),
            proxy_url=f"http://{SHOWN}127.0.0.1:{through.port}",
        )
        await fetch(transport)

    assert "proxy-authorization" not in seen[0].headers


async def test_the_tls_server_name_applies_behind_a_tunnel(authority: CertificateAuthority) -> None:
    async with (
        a_server(authority, secure=True, names=("kubernetes.example",)) as server,
        serving(HttpProxy().handle, authority.server()) as through,
    ):
        transport = HttpTransport(
            server.secure_url,
            tls=authority.client(),
            server_name="kubernetes.example",
            proxy_url=through.secure_url,
        )

        assert await fetch(transport) == b"ok"


@pytest.mark.parametrize("user", ["", "me:s3cret@"])
async def test_a_proxy_that_rejects_the_password_is_an_error(authority: CertificateAuthority, user: str) -> None:
    async with serving(HttpProxy(locked=True).handle) as through:
        message = await refusal(
            HttpTransport(
                "https://cluster.invalid",
                tls=authority.client(),
                proxy_url=f"http://{user}127.0.0.1:{through.port}",
            )
        )

    assert f"the proxy 127.0.0.1:{through.port} refused to connect to cluster.invalid:443 (HTTP 407)" in message
    assert "write proxy-url as http://user:password@host:port" in message


async def test_a_proxy_that_refuses_the_tunnel_is_an_error(authority: CertificateAuthority) -> None:
    async with serving(HttpProxy("403 Forbidden").handle) as through:
        message = await refusal(HttpTransport("https://cluster.invalid", tls=authority.client(), proxy_url=through.url))

    assert "refused to connect to cluster.invalid:443 (HTTP 403)" in message


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (b"", "closed the connection; check that proxy-url is an HTTP proxy's"),
        (b"HTTP/1.1 200", "closed the connection"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "does not speak HTTP; check proxy-url"),
        (b"HTTP/1.1 2xx\r\n\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", "does not speak HTTP"),
    ],
)
async def test_a_server_other_than_a_proxy_is_an_error(
    authority: CertificateAuthority, sent: bytes, problem: str
) -> None:
    async with serving(once(sent)) as through:
        message = await refusal(HttpTransport("https://cluster.invalid", tls=authority.client(), proxy_url=through.url))

    assert f"the proxy 127.0.0.1:{through.port} {problem}" in message


@pytest.mark.parametrize("agent", ["", "me/1"])
async def test_a_proxy_gets_the_same_user_agent_as_the_server(authority: CertificateAuthority, agent: str) -> None:
    proxy = HttpProxy()
    async with a_server(authority, secure=True) as server, serving(proxy.handle) as through:
        transport = HttpTransport(server.secure_url, tls=authority.client(), proxy_url=through.url)
        await (await transport.send(TransportRequest("GET", "/", [("User-Agent", agent)] if agent else []))).read()
        await transport.close()

    assert proxy.seen[0].headers.get("user-agent", "") == agent
    assert proxy.seen[0].headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_an_unreachable_proxy_is_an_error(authority: CertificateAuthority, scheme: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        message = await refusal(
            HttpTransport("https://cluster.invalid", tls=authority.client(), proxy_url=f"{scheme}://u:s3cret@{place}")
        )

    assert f"the proxy {place} cannot be reached (Connect" in message
    assert "check proxy-url" in message


async def test_a_certificate_that_is_not_trusted_behind_a_tunnel_is_the_servers(
    authority: CertificateAuthority,
) -> None:
    async with (
        a_server(CertificateAuthority(), secure=True) as server,
        serving(HttpProxy().handle) as through,
    ):
        message = await refusal(HttpTransport(server.secure_url, tls=authority.client(), proxy_url=through.url))

    assert f"the certificate of 127.0.0.1:{server.port} is signed by an authority that is not trusted" in message


async def test_a_certificate_of_the_proxy_that_is_not_trusted_is_the_proxys(
    authority: CertificateAuthority,
) -> None:
    async with serving(HttpProxy().handle, CertificateAuthority().server()) as through:
        message = await refusal(
            HttpTransport("https://cluster.invalid", tls=authority.client(), proxy_url=through.secure_url)
        )

    assert f"the certificate of 127.0.0.1:{through.port} is signed by an authority that is not trusted" in message


@pytest.mark.parametrize("locked", [False, True], ids=["open", "locked"])
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
async def test_a_server_is_reached_through_socks(
    authority: CertificateAuthority, scheme: str, *, secure: bool, locked: bool
) -> None:
    proxy = SocksProxy(locked=locked)
    async with a_server(authority, secure=secure) as server, serving(proxy.handle) as through:
        transport = HttpTransport(
            server.secure_url if secure else server.url,
            tls=authority.client(),
            proxy_url=f"{scheme}://{SHOWN if locked else ''}127.0.0.1:{through.port}",
        )

        assert await (await transport.send(GET)).read() == b"ok"
        assert await fetch(transport) == b"ok"
        assert proxy.requested == [f"127.0.0.1:{server.port}"]


async def test_a_socks_proxy_resolves_the_name(authority: CertificateAuthority) -> None:
    proxy = SocksProxy(target="127.0.0.1")
    async with (
        a_server(authority, secure=True, names=("cluster.invalid",)) as server,
        serving(proxy.handle) as through,
    ):
        transport = HttpTransport(
            f"https://cluster.invalid:{server.port}",
            tls=authority.client(),
            proxy_url=f"socks5://127.0.0.1:{through.port}",
        )

        assert await fetch(transport) == b"ok"
        assert proxy.requested == [f"cluster.invalid:{server.port}"]


async def test_the_tls_server_name_applies_behind_socks(authority: CertificateAuthority) -> None:
    async with (
        a_server(authority, secure=True, names=("kubernetes.example",)) as server,
        serving(SocksProxy().handle) as through,
    ):
        transport = HttpTransport(
            server.secure_url,
            tls=authority.client(),
            server_name="kubernetes.example",
            proxy_url=f"socks5://127.0.0.1:{through.port}",
        )

        assert await fetch(transport) == b"ok"


async def test_a_certificate_that_is_not_trusted_behind_socks(authority: CertificateAuthority) -> None:
    async with (
        a_server(CertificateAuthority(), secure=True) as server,
        serving(SocksProxy().handle) as through,
    ):
        message = await refusal(
            HttpTransport(
                server.secure_url,
                tls=authority.client(),
                proxy_url=f"socks5://127.0.0.1:{through.port}",
            )
        )

    assert f"the certificate of 127.0.0.1:{server.port} is signed by an authority that is not trusted" in message


async def test_a_server_without_tls_behind_socks_is_an_error(authority: CertificateAuthority) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(handle) as server, serving(SocksProxy().handle) as through:
        message = await refusal(
            HttpTransport(
                server.secure_url,
                tls=authority.client(),
                proxy_url=f"socks5://127.0.0.1:{through.port}",
            )
        )

    assert "does not speak TLS" in message


@pytest.mark.parametrize(
    ("reply", "problem"),
    [(2, "its rules forbid it"), (4, "the host cannot be reached"), (77, "reply 77")],
)
async def test_a_socks_proxy_that_refuses_is_an_error(reply: int, problem: str) -> None:
    async with serving(SocksProxy(reply).handle) as through:
        message = await refusal(
            HttpTransport("http://cluster.invalid", tls=None, proxy_url=f"socks5://127.0.0.1:{through.port}")
        )

    assert f"the proxy 127.0.0.1:{through.port} did not connect to cluster.invalid:80: {problem}" in message


@pytest.mark.parametrize(
    ("user", "problem"),
    [("", "requires authentication"), ("me:s3cret@", "refused proxy-url's user or password")],
)
async def test_a_socks_proxy_that_rejects_the_password_is_an_error(user: str, problem: str) -> None:
    async with serving(SocksProxy(locked=True).handle) as through:
        message = await refusal(
            HttpTransport("http://cluster.invalid", tls=None, proxy_url=f"socks5://{user}127.0.0.1:{through.port}")
        )

    assert problem in message


async def test_a_proxy_that_does_not_speak_socks_is_an_error() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(handle) as through:
        message = await refusal(
            HttpTransport("http://cluster.invalid", tls=None, proxy_url=f"socks5://127.0.0.1:{through.port}")
        )

    assert "does not speak SOCKS5" in message


async def test_a_socks_proxy_that_closes_the_connection_is_an_error() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        await reader.read(3)

    async with serving(handle) as through:
        message = await refusal(
            HttpTransport("http://cluster.invalid", tls=None, proxy_url=f"socks5://127.0.0.1:{through.port}")
        )

    assert f"the proxy 127.0.0.1:{through.port} closed the connection" in message


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_silent_proxy_exceeds_the_deadline(authority: CertificateAuthority, scheme: str) -> None:
    async with serving(never) as through:
        transport = HttpTransport(
            "https://cluster.invalid",
            tls=authority.client(),
            proxy_url=f"{scheme}://127.0.0.1:{through.port}",
            connect_timeout=0.05,
        )
        message = await refusal(transport)

    assert f"no connection to cluster.invalid:443 through the proxy 127.0.0.1:{through.port}" in message


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_closing_the_transport_aborts_a_proxy_handshake(authority: CertificateAuthority, scheme: str) -> None:
    connected = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await never(reader, writer)

    async def send(transport: HttpTransport) -> object:
        try:
            return await transport.send(GET)
        except MastheadError as error:
            return error

    async with serving(handle) as through:
        transport = HttpTransport(
            "https://cluster.invalid",
            tls=authority.client(),
            proxy_url=f"{scheme}://127.0.0.1:{through.port}",
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(send(transport))
            await connected.wait()
            await transport.close()

    assert isinstance(task.result(), ClosedError)


@pytest.mark.parametrize(
    ("url", "place", "authorization"),
    [
        ("http://proxy", "proxy:80", ""),
        ("https://proxy", "proxy:443", ""),
        ("socks5://[::1]", "[::1]:1080", ""),
        ("http://a:b@proxy:3128", "proxy:3128", "Basic YTpi"),
        ("http://a@proxy:3128/", "proxy:3128", "Basic YTo="),
    ],
)
def test_a_proxy_address_is_parsed(url: str, place: str, authorization: str) -> None:
    proxy = Proxy.parse(url)

    shown = proxy.headers().get("Proxy-Authorization", "")
    assert (proxy.place, reveal(shown)) == (place, authorization)


def test_a_proxy_does_not_show_its_password() -> None:
    proxy = Proxy.parse("http://user:s3cret@proxy:3128")

    assert "s3cret" not in repr(proxy)
    assert proxy.url == "http://proxy:3128"


@pytest.mark.parametrize(
    "url", ["ftp://u:s3cret@h", "u:s3cret@h:1", "http://", "http://u:s3cret@", "http://u:s3cret@h:port", "h"]
)
def test_an_invalid_proxy_address_is_a_config_error_and_not_quoted(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^proxy-url ") as caught:
        HttpTransport("http://h", tls=None, proxy_url=url)

    assert "s3cret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
