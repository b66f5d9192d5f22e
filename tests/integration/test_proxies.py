"""Proxies named by a kubeconfig: calls and watches, and what a proxy must not see."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.guarded import of
from tests.unit.transport.servers import http_response, join, receive, serving

import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.config import from_kubeconfig, load
from masthead.errors import ConnectError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import Server

TOKEN = "t0ken-of-the-server"
PASSWORD = "passw0rd-of-the-proxy"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(tls=True, token=TOKEN) as running:
        yield running


class Tunnel:
    """An HTTP proxy that opens tunnels, and records what it receives."""

    def __init__(self, refusal: bytes = b"") -> None:
        self.heads: list[str] = []
        self._refusal = refusal

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        self.heads.append(f"{request.line} {request.pairs}")
        if self._refusal:
            writer.write(self._refusal)
            return
        host, _, port = request.line.split()[1].rpartition(":")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await join(reader, writer, host, int(port))


class Socks:
    """A SOCKS5 proxy without a password, for addresses in numbers."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        assert await reader.readexactly(4) == b"\x05\x01\x00\x01"
        host = socket.inet_ntoa(await reader.readexactly(4))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.heads.append(f"{host}:{port}")
        writer.write(b"\x05\x00\x00\x01\0\0\0\0\0\0")
        await join(reader, writer, host, port)


@pytest.mark.parametrize(("scheme", "proxy"), [("http", Tunnel), ("socks5", Socks)])
async def test_calls_and_watches_go_through_the_proxy_of_the_kubeconfig(
    server: Server, tmp_path: Path, facade: str, scheme: str, proxy: type[Tunnel | Socks]
) -> None:
    through = proxy()
    async with serving(through.handle) as listening:
        url = f"{scheme}://127.0.0.1:{listening.port}"
        config = of(server, tmp_path, {"token": TOKEN}, proxy_url=url)
        async with connected(config, facade) as client:
            maps = client.core_v1.config_maps("default")
            made = await maps.create(ConfigMap.new(generate_name="map-"))
            async with maps.watch(resource_version=str(int(made.metadata.resource_version) - 1)) as events:
                event = await anext(events)

    assert event.object.metadata.name == made.metadata.name
    assert len(through.heads) == 1  # the watch has taken over the connection of the call before
    assert all(server.url.removeprefix("https://") in head for head in through.heads)


async def test_credentials_for_the_server_are_not_sent_to_the_proxy(
    server: Server, tmp_path: Path, facade: str
) -> None:
    tunnel = Tunnel()
    async with serving(tunnel.handle) as listening:
        url = f"http://me:{PASSWORD}@127.0.0.1:{listening.port}"
        config = of(server, tmp_path, {"token": TOKEN}, proxy_url=url)
        async with connected(config, facade) as client:
            await client.core_v1.namespaces().get("default")
            assert PASSWORD not in f"{config!r} {client!r} {config.describe()}"

    (head,) = tunnel.heads
    assert "proxy-authorization" in head
    assert TOKEN not in head
    assert "proxy-authorization" not in server.requests[-1].headers


async def failure(server: Server, folder: Path, facade: str, place: str) -> str:
    config = of(server, folder, {"token": TOKEN}, proxy_url=f"http://me:{PASSWORD}@{place}")
    async with connected(config, facade, attempts=1) as client:
        with pytest.raises(ConnectError) as caught:
            await client.core_v1.namespaces().get("default")
    error = caught.value
    message = f"{error} {error!r} {error.__cause__!r} {error.__context__!r}"
    assert PASSWORD not in message
    assert TOKEN not in message
    return str(error)


async def test_an_unreachable_proxy_is_named(server: Server, tmp_path: Path, facade: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        before = len(server.requests)

        message = await failure(server, tmp_path, facade, place)

    assert f"the proxy {place} cannot be reached" in message
    assert len(server.requests) == before


@pytest.mark.parametrize(
    ("status", "advice"),
    [("407 Proxy Authentication Required", "with the right ones"), ("403 Forbidden", "ask its operator")],
)
async def test_a_refusing_proxy_is_distinguished_from_a_refusing_server(
    server: Server, tmp_path: Path, facade: str, status: str, advice: str
) -> None:
    async with serving(Tunnel(http_response(status=status)).handle) as listening:
        message = await failure(server, tmp_path, facade, f"127.0.0.1:{listening.port}")

    assert f"the proxy 127.0.0.1:{listening.port} refused to connect" in message
    assert advice in message


async def test_a_server_on_this_machine_needs_no_proxy_of_the_environment(
    server: Server, tmp_path: Path, facade: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ: dict[str, Any] = {"HTTPS_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    path = server.write_kubeconfig(tmp_path / "config")

    for config in (load(path, environ=environ), from_kubeconfig(server.kubeconfig())):
        async with connected(config, facade, attempts=1) as client:
            assert (await client.core_v1.namespaces().get("default")).metadata.name == "default"
