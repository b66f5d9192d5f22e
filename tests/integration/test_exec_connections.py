"""Commands reach the server as every other call does: through TLS and proxies, with each kind of credential."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.guarded import Gate, kubeconfig, of
from tests.integration.test_proxies import Socks, Tunnel
from tests.unit.config.samples import packed
from tests.unit.transport.servers import receive, serving
from tests.unit.transport.websocket_peer import frame, switching
from websockets.frames import Close, Opcode

import masthead
import masthead.server
from masthead.api.core.v1 import Container, Pod
from masthead.config import from_kubeconfig
from masthead.errors import (
    BadRequestError,
    ConnectError,
    ExecProtocolError,
    ProtocolError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import ExecProcess, Server

TOKEN = "t0ken-of-the-server"
SUCCESS = frame(b'\x03{"metadata":{},"status":"Success"}') + frame(Close(1000, "").serialize(), Opcode.CLOSE)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(tls=True, token=TOKEN) as running:
        with masthead.Client(from_kubeconfig(running.kubeconfig())) as client:
            new = Pod.new("web", spec={"containers": [Container(name="app", image="app")]})
            client.core_v1.pods("default").create(new)
        running.kubelet.start("web")

        @running.kubelet.exec("*", command="reverse")
        async def reverse(process: ExecProcess) -> None:
            await process.stdout.write((await process.stdin.read())[::-1])

        yield running


async def reversed_by(client: Any) -> bytes:
    """What a command makes of its stdin."""
    result = await client.core_v1.pods("default").exec("web", ["reverse"], stdin=b"abc" * 50_000)
    return bytes(result.stdout)


@pytest.mark.parametrize(("scheme", "proxy"), [("http", Tunnel), ("socks5", Socks)])
async def test_commands_go_through_the_proxy_of_the_kubeconfig(
    server: Server, tmp_path: Path, facade: str, scheme: str, proxy: type[Tunnel | Socks]
) -> None:
    through = proxy()
    async with serving(through.handle) as listening:
        url = f"{scheme}://127.0.0.1:{listening.port}"
        config = of(server, tmp_path, {"token": TOKEN}, proxy_url=url)
        async with connected(config, facade) as client:
            assert await reversed_by(client) == b"cba" * 50_000
    assert TOKEN not in str(through.heads)


async def test_a_wrong_token_is_refused_before_anything_runs(server: Server, tmp_path: Path, facade: str) -> None:
    async with connected(of(server, tmp_path, {"token": "wrong"}), facade) as client:
        with pytest.raises(UnauthorizedError, match="exec pods default/web"):
            await reversed_by(client)


async def test_a_token_that_was_replaced_on_disk_is_read_again(server: Server, tmp_path: Path, facade: str) -> None:
    file = tmp_path / "token"
    file.write_text("wrong")
    config = of(server, tmp_path, {"tokenFile": str(file)})
    async with connected(config, facade) as client:
        with pytest.raises(UnauthorizedError):
            await reversed_by(client)
        file.write_text(TOKEN)
        assert await reversed_by(client) == b"cba" * 50_000


async def test_client_certificates_identify_who_runs_a_command(tmp_path: Path, facade: str) -> None:
    gate = Gate()
    pair = gate.pair("jane")

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = dict(part[0] for part in writer.get_extra_info("peercert")["subject"])
        request = await receive(reader)
        writer.write(switching(request.headers["sec-websocket-key"]))
        writer.write(frame(b"\x01" + subject["commonName"].encode()) + SUCCESS)
        await reader.read()

    user = {
        "client-certificate-data": packed(pair.certificate),
        "client-key-data": packed(pair.key),
    }
    async with serving(handle, gate.context()) as listening:
        config = kubeconfig(tmp_path, listening.secure_url, gate.trusted, user)
        async with connected(config, facade) as client:
            assert (await client.core_v1.pods("default").exec("web", ["whoami"])).text == "jane"


async def test_a_server_that_does_not_switch_is_named_as_such(facade: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with (
        serving(handle) as listening,
        connected(masthead.Config(server=listening.url), facade) as client,
    ):
        with pytest.raises(
            ProtocolError, match=r"exec pods default/web: .*does not speak WebSockets here \(HTTP 200\)"
        ):
            await client.core_v1.pods("default").exec("web", ["true"])


async def test_a_proxy_that_removes_the_upgrade_is_suspected(facade: str) -> None:
    body = b'{"kind":"Status","status":"Failure","message":"Upgrade request required","reason":"BadRequest","code":400}'

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        head = b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(body) + body)

    async with (
        serving(handle) as listening,
        connected(masthead.Config(server=listening.url), facade) as client,
    ):
        with pytest.raises(BadRequestError, match="look for a proxy or load balancer"):
            await client.core_v1.pods("default").exec("web", ["true"])


async def test_a_command_is_sent_at_most_once(facade: str) -> None:
    seen = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        await receive(reader)
        seen += 1
        writer.transport.abort()

    async with (
        serving(handle) as listening,
        connected(masthead.Config(server=listening.url), facade) as client,
    ):
        with pytest.raises(ProtocolError, match="check whether the request was carried out"):
            await client.core_v1.pods("default").exec("web", ["true"])
    assert seen == 1


async def test_a_server_that_cannot_be_reached_is_a_connect_error(facade: str) -> None:
    async with serving(receive_nothing) as listening:
        url = listening.url
    async with connected(masthead.Config(server=url), facade, attempts=1) as client:
        with pytest.raises(ConnectError, match="exec pods default/web"):
            await client.core_v1.pods("default").exec("web", ["true"])


@pytest.mark.slow
async def test_a_server_that_cannot_close_stdin_is_told_apart_from_a_source_that_fails(facade: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        writer.write(switching(request.headers["sec-websocket-key"], protocol="v4.channel.k8s.io"))
        await reader.read()

    async with (
        serving(handle) as listening,
        connected(masthead.Config(server=listening.url), facade) as client,
    ):
        with pytest.raises(ExecProtocolError, match="stdin cannot be closed") as caught:
            await client.core_v1.pods("default").exec("web", ["cat"], stdin=b"x")
    assert (caught.value.stdout, caught.value.stderr) == (b"", b"")


async def receive_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del reader, writer
