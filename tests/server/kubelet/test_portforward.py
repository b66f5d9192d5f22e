"""Port-forward: over SPDY in a WebSocket, over SPDY itself, and over the channels of a WebSocket."""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING

import pytest
from tests.server.kubelet.wires import (
    POD,
    TUNNEL,
    ForwardWire,
    WebSocketWire,
    connect_forward,
    lines_of,
    spdy_headers,
    start_pod,
    websocket_headers,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from tests.server.calls import Caller

    from masthead.server import Server

FORWARD = f"{POD}/portforward"
ECHO, COUNT = 8080, 8081


@pytest.fixture(autouse=True)
def _pod(server: Server, caller: Caller) -> None:
    start_pod(server, caller)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"%d" % len(await reader.read()))

    server.kubelet.listen("web", ECHO, echo)
    server.kubelet.listen("web", COUNT, count)


@pytest.fixture(params=["tunnel", "spdy"])
def client(server: Server, caller: Caller, request: pytest.FixtureRequest) -> Iterator[ForwardWire]:
    connection, wire = connect_forward(caller, server, request.param)
    with connection:
        yield wire


def test_the_protocol_is_confirmed(server: Server, caller: Caller) -> None:
    connection, _ = connect_forward(caller, server, "tunnel")
    with connection:
        assert f"Sec-WebSocket-Protocol: {TUNNEL}" in lines_of(connection.head)
    connection, _ = connect_forward(caller, server, "spdy")
    with connection:
        assert {"Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: portforward.k8s.io"} <= set(lines_of(connection.head))


def test_bytes_go_both_ways(client: ForwardWire) -> None:
    data = bytes(range(256)) * 4096
    assert client.exchange(ECHO, data) == data


def test_one_direction_can_end_by_itself(client: ForwardWire) -> None:
    assert client.exchange(COUNT, b"x" * 1000) == b"1000"


def test_connections_do_not_wait_for_each_other(client: ForwardWire) -> None:
    pairs = [client.forward(ECHO, str(number)) for number in range(20)]
    for round_ in range(3):
        for number, (_, stream) in enumerate(reversed(pairs)):
            client.send(stream, b"%d.%d " % (round_, number))
    for number, (_, stream) in enumerate(reversed(pairs)):
        expected = b"".join(b"%d.%d " % (round_, number) for round_ in range(3))
        assert client.read_until(stream, len(expected)) == expected


def test_a_port_on_which_nothing_listens_is_said_and_harms_no_other(client: ForwardWire) -> None:
    error, stream = client.forward(9, "bad")
    client.read_to_end(error, stream)
    message = client.received[error].decode()
    assert message.startswith("error forwarding port 9 to pod ")
    assert "failed to connect to localhost:9 inside namespace" in message
    assert "IPv4: dial tcp4 127.0.0.1:9: connect: connection refused" in message
    assert stream in client.reset
    assert client.exchange(ECHO, b"good", "good") == b"good"


def test_a_connection_that_its_target_resets_is_reported(server: Server, client: ForwardWire) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def reset() -> None:
            accepted, _ = listening.accept()
            accepted.recv(1)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()

        thread = threading.Thread(target=reset)
        thread.start()
        server.kubelet.listen("web", 7000, listening.getsockname()[1])
        error, stream = client.forward(7000)
        client.send(stream, b"x")
        client.read_to_end(error, stream)
        thread.join()
    assert client.received[error].endswith(b"read: connection reset by peer")
    assert stream in client.reset


def test_a_stream_that_the_client_resets_ends_its_connection(server: Server, client: ForwardWire) -> None:
    ended = threading.Event()

    async def wait(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()
        ended.set()

    server.kubelet.listen("web", 7000, wait)
    error, stream = client.forward(7000)
    client.session.reset(stream)
    client.flush()
    client.read_to_end(error)
    assert ended.wait(10)
    assert not client.received[error]


@pytest.mark.parametrize(
    "headers",
    [
        {"streamType": "data"},
        {"streamType": "data", "port": "0"},
        {"streamType": "data", "port": "65536"},
        {"streamType": "data", "port": "x"},
        {"streamType": "other", "port": "80"},
        {"port": "80"},
    ],
)
def test_a_stream_with_invalid_headers_is_reset(client: ForwardWire, headers: dict[str, str]) -> None:
    stream = client.open(headers)
    client.read_to_end(stream)
    assert stream in client.reset
    assert client.exchange(ECHO, b"good") == b"good"


def test_streams_are_paired_without_an_id_too(client: ForwardWire) -> None:
    error = client.open({"port": str(ECHO), "streamType": "error"}, fin=True)
    stream = client.open({"port": str(ECHO), "streamType": "data"})
    client.send(stream, b"hello", fin=True)
    client.read_to_end(error, stream)
    assert client.received[stream] == b"hello"


def test_a_stream_of_a_kind_that_is_there_already_is_refused(client: ForwardWire) -> None:
    headers = {"port": str(ECHO), "requestID": "7", "streamType": "error"}
    first = client.open(headers)
    second = client.open(headers)
    client.read_to_end(second)
    assert second in client.reset
    message = b"error processing stream for request 7: error stream already assigned"
    assert client.read_until(first, len(message)) == message


def test_a_stream_without_its_pair_is_not_waited_for_for_ever(server: Server, client: ForwardWire) -> None:
    error = client.open({"port": str(ECHO), "requestID": "7", "streamType": "error"})
    assert client.exchange(ECHO, b"x") == b"x"  # by now, the stream is open
    server.advance(31)
    message = b"(request=7) timed out waiting for streams"
    assert client.read_until(error, len(message)) == message


def test_the_end_of_the_pod_ends_the_connection(server: Server, client: ForwardWire) -> None:
    assert client.exchange(ECHO, b"x") == b"x"
    server.kubelet.fail("web")
    client.read_to_end(-1)
    assert client.is_over


def test_a_deleted_pod_ends_the_connection(caller: Caller, client: ForwardWire) -> None:
    assert client.exchange(ECHO, b"x") == b"x"
    caller.call("DELETE", f"{POD}?gracePeriodSeconds=0")
    client.read_to_end(-1)
    assert client.is_over


def test_a_restart_breaks_what_is_open_and_no_more(server: Server, client: ForwardWire) -> None:
    error, stream = client.forward(ECHO, "before")
    client.send(stream, b"x")
    client.read_until(stream, 1)
    server.kubelet.restart("web")
    client.read_to_end(error, stream)
    assert client.received[error].endswith(b"read: connection reset by peer")
    assert client.exchange(ECHO, b"after", "after") == b"after"


def test_nothing_listens_in_a_container_that_waits_for_its_restart(server: Server, client: ForwardWire) -> None:
    server.kubelet.crash_loop("web")
    error, stream = client.forward(ECHO)
    client.read_to_end(error, stream)
    assert b"connection refused" in client.received[error]


@pytest.mark.parametrize(
    ("headers", "code", "body"),
    [
        ({}, 400, "Upgrade request required"),
        (websocket_headers("SPDY/3.1+other.k8s.io"), 403, "server accepts [portforward.k8s.io]"),
        (websocket_headers("SPDY/3.1+other"), 400, 'query parameter "port" is required'),
        (websocket_headers("v4.channel.k8s.io"), 400, 'query parameter "port" is required'),
        ({**websocket_headers(TUNNEL), "Sec-WebSocket-Version": "1"}, 400, "Unsupported version"),
        (spdy_headers(), 400, "header X-Stream-Protocol-Version does not exist"),
        (spdy_headers(","), 400, "no valid protocols"),
        (spdy_headers("other"), 403, "client supports [other], server accepts [portforward.k8s.io]"),
        ({"Connection": "Upgrade", "Upgrade": "h2c"}, 400, "X-Stream-Protocol-Version does not exist"),
        ({**spdy_headers("portforward.k8s.io"), "Upgrade": "h2c"}, 400, "missing upgrade headers"),
    ],
)
def test_what_cannot_be_served_is_refused(caller: Caller, headers: dict[str, str], code: int, body: str) -> None:
    refused = caller.call("GET", FORWARD, headers=headers)
    assert refused.code == code
    assert body in refused.body.decode()


def test_a_refusal_names_what_is_accepted(caller: Caller) -> None:
    refused = caller.call("POST", FORWARD, headers=spdy_headers("other"))
    assert refused.headers["x-accepted-stream-protocol-versions"] == "portforward.k8s.io"


def test_a_pod_that_cannot_be_reached_is_refused(server: Server, caller: Caller) -> None:
    headers = websocket_headers(TUNNEL)
    path = "/api/v1/namespaces/default/pods/nosuch/portforward"
    assert caller.call("GET", path, headers=headers).failure[2] == 'pods "nosuch" not found'
    server.kubelet.succeed("web")
    refused = caller.call("GET", FORWARD, headers=headers)
    assert (refused.code, refused.body) == (500, b'pod not found ("web_default")\n')


def test_channels_carry_one_connection_for_each_port(server: Server, caller: Caller) -> None:
    path = f"{FORWARD}?ports={ECHO}&ports=9"
    with WebSocketWire(caller, server.token, path, websocket_headers("v4.channel.k8s.io")) as client:
        first = [client.receive() for _ in range(4)]
        assert first == [
            (2, bytes((channel,)) + port.to_bytes(2, "little")) for channel, port in enumerate((ECHO, ECHO, 9, 9))
        ]
        error = client.receive()
        assert error is not None
        assert error[1].startswith(b"\3error forwarding port 9 to pod ")
        client.send(b"\0hello")
        assert client.receive() == (2, b"\0hello")


def test_channels_end_with_the_last_connection(server: Server, caller: Caller) -> None:
    async def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")

    server.kubelet.listen("web", 7000, say)
    path = f"{FORWARD}?ports=7000"
    with WebSocketWire(caller, server.token, path, websocket_headers("v4.channel.k8s.io")) as client:
        messages = [client.receive() for _ in range(4)]
    assert messages[2:] == [(2, b"\0bye"), (8, (1000).to_bytes(2))]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("ports=", "cannot be empty"),
        ("ports=x", 'unable to parse "x" as a port'),
        ("ports=0", "must be > 0"),
        ("ports=99999", "unable to parse"),
        (f"ports={','.join(['80'] * 128)}", "at most 127 ports"),
    ],
)
def test_channels_need_valid_ports(caller: Caller, query: str, problem: str) -> None:
    refused = caller.call("GET", f"{FORWARD}?{query}", headers=websocket_headers("v4.channel.k8s.io"))
    assert refused.code == 400
    assert problem in refused.body.decode()


def test_an_unknown_subprotocol_is_forbidden(caller: Caller) -> None:
    refused = caller.call("GET", f"{FORWARD}?ports=80", headers=websocket_headers("v9.channel.k8s.io"))
    assert (refused.code, refused.body) == (403, b"")
