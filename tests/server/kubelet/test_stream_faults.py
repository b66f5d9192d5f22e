"""Faults of streams: exec, port-forward, logs and proxies that break, fall silent or say something odd, at any byte."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.wires import (
    POD,
    ForwardWire,
    Upgraded,
    WebSocketWire,
    connect_forward,
    start_pod,
    websocket_headers,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from tests.server.calls import Caller

    from masthead.server import ExecProcess, Server

EXEC = f"{POD}/exec?command=greet&stdin=1&stdout=1&stderr=1"
LOG = f"{POD}/log"
HELLO = b"\x82\x06\x01hello"
"""The frame of what the command prints."""


@pytest.fixture(autouse=True)
def _pod(server: Server, caller: Caller) -> None:
    start_pod(server, caller)

    @server.kubelet.exec("web", command="greet")
    async def greet(process: ExecProcess) -> None:
        await process.stdout.write("hello")
        await process.stdin.read()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            writer.write(piece)

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    server.kubelet.listen("web", 7, echo)
    server.kubelet.listen("web", 8080, respond)


@pytest.fixture
def connect(server: Server, caller: Caller) -> Callable[[], WebSocketWire]:
    return lambda: WebSocketWire(caller, server.token, EXEC, websocket_headers("v5.channel.k8s.io"))


def greeting(client: Upgraded, size: int) -> bytes:
    """What the client of an exec gets, whose first frame only shows that the connection stands."""
    assert client.read(3) == b"\x82\x01\x01"
    return client.read(size - 3)


@pytest.mark.parametrize("after", range(3, 3 + len(HELLO)))
def test_an_exec_breaks_after_any_byte(server: Server, connect: Callable[[], WebSocketWire], after: int) -> None:
    fault = server.faults.drop_stream(after=after, subresource="exec")
    with connect() as client:
        assert greeting(client, 1000) == HELLO[: after - 3]
    assert fault.hits == 1
    with connect() as client:  # it hit one request, and is gone
        assert greeting(client, 3 + len(HELLO)) == HELLO


def test_an_exec_breaks_right_after_its_upgrade(server: Server, connect: Callable[[], WebSocketWire]) -> None:
    server.faults.drop_stream(subresource="exec")
    with connect() as client:
        assert client.read_all() == b""


def test_an_exec_breaks_after_what_the_client_has_sent(server: Server, connect: Callable[[], WebSocketWire]) -> None:
    server.faults.drop_stream(after=10, received=True, subresource="exec")
    with connect() as client:
        assert greeting(client, 3 + len(HELLO)) == HELLO
        client.send(b"\0ab")
        client.send(b"\0cdefgh")
        assert client.read_all() == b""


@pytest.mark.parametrize("received", [False, True])
def test_a_silent_stream_stays_open(server: Server, connect: Callable[[], WebSocketWire], *, received: bool) -> None:
    server.faults.silence_stream(after=1 if received else 5, received=received, subresource="exec")
    with connect() as client:
        expected = HELLO if received else HELLO[:2]
        assert greeting(client, 3 + len(expected)) == expected
        client.send(b"\0input")
        client.send(b"\xff\0")  # the end of stdin, and so of the command
        server.block_until_idle()
        client.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.socket.recv(1)


def test_a_websocket_is_closed_with_a_code(server: Server, connect: Callable[[], WebSocketWire]) -> None:
    server.faults.close_stream(1011, reason="gone", after=4, subresource="exec")
    with connect() as client:
        frames = [client.receive() for _ in range(3)]
        assert frames == [(2, b"\1"), (2, b"\1hello"), (8, (1011).to_bytes(2) + b"gone")]
        assert client.read_all() == b""


def test_a_message_can_be_anything(server: Server, connect: Callable[[], WebSocketWire]) -> None:
    odd = b"\x09" + b"x" * 70_000
    server.faults.insert_message(odd, after=1, subresource="exec")
    with connect() as client:
        assert [client.receive() for _ in range(3)] == [(2, b"\1"), (2, odd), (2, b"\1hello")]
        client.send(b"\xff\0")
        status = client.receive()
        assert status is not None
        assert status[1].startswith(b"\3{")


def test_an_upgrade_is_refused(server: Server, caller: Caller) -> None:
    server.faults.fail(403, subresource="exec")
    assert caller.call("GET", EXEC, headers=websocket_headers("v5.channel.k8s.io")).failure[0] == 403


@pytest.mark.parametrize("after", [0, 1, 6, 7, 11])
def test_a_log_breaks_after_any_byte_of_its_lines(server: Server, caller: Caller, after: int) -> None:
    server.kubelet.log("web").write("first\nsecond")
    server.faults.drop_stream(after=after, subresource="log")
    with caller.socket() as client, client.makefile("rb") as received:
        request = f"GET {LOG} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n"
        client.sendall(request.encode())
        _, _, body = received.read().partition(b"\r\n\r\n")
    _, _, sent = body.partition(b"\r\n")  # behind the length of the only chunk
    assert sent == b"first\nsecond"[:after]
    assert caller.call("GET", LOG).body == b"first\nsecond"


def test_a_stream_that_ends_before_is_not_affected(server: Server, caller: Caller) -> None:
    server.kubelet.log("web").write("short")
    server.faults.drop_stream(after=6, subresource="log")
    assert caller.call("GET", LOG).body == b"short"
    assert caller.call("GET", LOG).body == b"short"  # over the same connection


def test_a_proxied_response_breaks(server: Server, caller: Caller) -> None:
    server.faults.drop_stream(after=3, subresource="proxy")
    with pytest.raises(http.client.IncompleteRead) as broken:
        caller.call("GET", f"{POD}/proxy/")
    assert broken.value.partial == b"hel"


@pytest.mark.parametrize("carrier", ["tunnel", "spdy"])
def test_a_port_forward_breaks(server: Server, caller: Caller, carrier: str) -> None:
    server.faults.drop_stream(after=200, subresource="portforward")
    connection, client = connect_forward(caller, server, carrier)
    with connection:
        _, stream = client.forward(7)
        client.send(stream, b"x" * 1000)
        client.read_until(stream, 1000)
        assert client.is_over
        assert len(client.received[stream]) < 200
    connection, client = connect_forward(caller, server, carrier)
    with connection:
        assert client.exchange(7, b"x" * 1000) == b"x" * 1000


def test_a_fault_that_makes_no_sense_is_refused(server: Server) -> None:
    with pytest.raises(ValueError, match="after 0 or more events or bytes, not after -1"):
        server.faults.drop_stream(after=-1)
    with pytest.raises(ValueError, match="no WebSocket is closed with the code 42"):
        server.faults.close_stream(42)
    with pytest.raises(ValueError, match="the reason"):
        server.faults.close_stream(reason="x" * 124)


def test_one_broken_port_forward_does_not_break_another(server: Server, caller: Caller) -> None:
    first, client = connect_forward(caller, server, "tunnel")
    server.faults.drop_stream(subresource="portforward")
    second, broken = connect_forward(caller, server, "tunnel")
    with first, second:
        broken.read_to_end(-1)
        assert isinstance(client, ForwardWire)
        assert client.exchange(7, b"good") == b"good"
