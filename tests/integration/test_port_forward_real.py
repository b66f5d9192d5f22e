"""port_forward, connect and open_socket against Kubernetes' own streaming code: API server, kubelet and CRI layers."""

from __future__ import annotations

import asyncio
import logging
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from tests.integration.conftest import connected
from tests.streaming_server import PROGRAM, streaming_server

from masthead.errors import NotFoundError, PortForwardError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from masthead.config import Config

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def streamtest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Config]:
    if not PROGRAM.is_file():
        pytest.skip(f"there is no {PROGRAM}")
    with streaming_server(tmp_path_factory.mktemp("streamtest") / "log") as config:
        yield config


@pytest.fixture
async def pods(streamtest: Config, facade: str) -> AsyncIterator[Any]:
    async with connected(streamtest, facade) as client:
        yield client.core_v1.pods("default")


@asynccontextmanager
async def listening(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """A port of this machine, which is what a pod's ports are here."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1]


async def mirror(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(2**16):
        writer.write(data)
        await writer.drain()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"%d bytes" % len(await reader.read()))


async def talk(port: int, said: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(said)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


async def test_connections_are_forwarded_with_their_ends(pods: Any) -> None:
    async with (
        listening(mirror) as remote,
        listening(ask) as other,
        pods.port_forward("web", remote, other) as ports,
    ):
        said = [bytes([number]) * 300_000 for number in range(20)]
        assert await asyncio.gather(*[talk(ports[0], each) for each in said]) == said
        assert await talk(ports[1], said[0]) == b"300000 bytes"


async def test_the_message_of_the_kubelet_is_the_error(pods: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "masthead.portforward")
    async with pods.connect("web", 1) as connection:
        with pytest.raises(PortForwardError, match=r"port 1: error forwarding port 1 to pod .*connection refused"):
            await connection.read()
    async with listening(mirror) as remote, pods.port_forward("web", 1, remote) as (refused, port):
        with pytest.raises((ConnectionError, AssertionError)):
            assert await talk(refused, b"x") is None
        assert await talk(port, b"x") == b"x"
    assert "connection refused" in caplog.text


async def test_a_slow_reader_holds_up_itself_alone(pods: Any) -> None:
    async with listening(mirror) as remote, pods.port_forward("web", remote) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**16)
        writer.write(bytes(50_000_000))
        writer.write_eof()
        for number in range(5):
            assert await talk(port, b"%d" % number) == b"%d" % number
        assert len(await reader.read()) == 50_000_000
        writer.close()


async def test_a_socket_carries_much_both_ways(pods: Any) -> None:
    async with listening(mirror) as remote:
        leads_there = await pods.open_socket("web", remote)

        def use() -> int:
            with leads_there:
                leads_there.settimeout(20)
                total = 0
                for turn in range(1, 101):
                    leads_there.sendall(bytes(10_000))
                    while total < turn * 10_000:
                        total += len(leads_there.recv(10_000))
                return total

        assert await asyncio.to_thread(use) == 1_000_000


async def test_pods_that_do_not_exist_or_run(pods: Any) -> None:
    with pytest.raises(NotFoundError, match="missing1"):
        await pods.port_forward("missing1", 80).open()
    with pytest.raises(PortForwardError, match="not running but Pending"):
        await pods.port_forward("pending1", 80).open()


async def test_tls_inside_of_a_connection(pods: Any, facade: str) -> None:
    if facade == "sync":
        pytest.skip("asyncio's streams belong to the async façade")
    authority = trustme.CA()
    theirs, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("web.example").configure_cert(theirs)
    authority.configure_trust(ours)
    async with listening(mirror, theirs) as remote, pods.connect("web", remote) as connection:
        await connection.writer.start_tls(ours, server_hostname="web.example")
        connection.writer.write(b"secret" * 100_000)
        assert await connection.reader.readexactly(600_000) == b"secret" * 100_000
