"""The memory that a client can make the server use is bounded, with and without a token."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.server.calls import JSON, MAPS, MERGE_PATCH, PATIENCE, Caller, config_map

import masthead.server
from masthead.server import VirtualClock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

MEBIBYTE = 1024 * 1024
ONLY_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"


@pytest.fixture
def open_server() -> Iterator[Server]:
    with masthead.server.run(clock=VirtualClock, token=None) as running:
        yield running


def received(connection: socket.socket) -> bytes:
    """All that comes until the server hangs up, whichever way."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def send(connection: socket.socket, *pieces: bytes) -> None:
    """Send as much as the server takes."""
    try:
        for piece in pieces:
            connection.sendall(piece)
    except (BrokenPipeError, ConnectionResetError):
        pass


def head(server: Server, line: str, *headers: str) -> bytes:
    token = [f"Authorization: Bearer {server.token}"] if server.token else []
    return "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *token, *headers, "", ""]).encode()


# Heads


def test_an_endless_head_is_rejected_beyond_the_limit_of_go(caller: Caller) -> None:
    with caller.socket() as connection:
        connection.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\n")
        for number in range(6):
            send(connection, f"X-{number}: ".encode(), b"x" * (MEBIBYTE // 4), b"\r\n")
        assert received(connection).startswith(TOO_LARGE)


@pytest.mark.parametrize("size", [MEBIBYTE + 4096 + 1, MEBIBYTE + 200_000])
def test_a_complete_head_that_is_too_long_is_rejected(caller: Caller, size: int) -> None:
    with caller.socket() as connection:
        pad = b"x" * (size // 8)
        lines = b"".join(b"X-%d: %s\r\n" % (number, pad) for number in range(8))
        send(connection, b"GET /version HTTP/1.1\r\nHost: localhost\r\n", lines, b"\r\n")
        assert received(connection).startswith(TOO_LARGE)


def test_a_head_of_almost_a_megabyte_is_accepted(caller: Caller) -> None:
    assert caller.call("GET", f"{MAPS}?unheard-of={'x' * 1_000_000}").code == 200


@pytest.mark.parametrize(("count", "code"), [(900, b"200"), (1_001, b"431"), (50_000, b"431")])
def test_the_number_of_headers_is_limited(caller: Caller, count: int, code: bytes) -> None:
    with caller.socket() as connection:
        begun = b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        send(connection, begun, b"a:\r\n" * count, b"\r\n")
        assert received(connection).startswith(b"HTTP/1.1 " + code)


@pytest.mark.parametrize("cut", range(4))
def test_the_lines_of_a_body_are_no_headers(server: Server, caller: Caller, cut: int) -> None:
    body = b"metadata:\n  name: a\n" + b"\n" * 5_000
    length = f"Content-Length: {len(body)}"
    begun = head(server, f"POST {MAPS}", "Content-Type: application/yaml", length, "Connection: close")
    with caller.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(begun[: len(begun) - cut])
        server.block_until_idle()
        connection.sendall(begun[len(begun) - cut :] + body)
        assert received(connection).startswith(b"HTTP/1.1 201")


def test_a_path_that_is_too_long_is_rejected(caller: Caller) -> None:
    with caller.socket() as connection:
        send(connection, b"GET /", b"x" * 2 * MEBIBYTE, b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert received(connection).startswith(TOO_LARGE)


def test_the_total_size_of_heads_is_limited_and_small_ones_are_still_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("masthead_server.web.server.HEADS_LIMIT", 4 * MEBIBYTE)
    with masthead.server.run() as small:
        other = Caller(small.url, small.token)
        assert other.call("GET", MAPS).code == 200
        connections = [other.socket() for _ in range(8)]
        for connection in connections:
            send(connection, b"GET /version HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * 1_000_000)
        # Those above the limit are rejected; the others are waited for, and small heads are served.
        waiting = set(connections)
        for _ in range(4):
            ready, _, _ = select.select(waiting, [], [], PATIENCE)
            assert ready
            assert ready[0].recv(65536).startswith(TOO_LARGE)
            waiting.remove(ready[0])
        assert other.call("GET", MAPS).code == 200
        for connection in connections:
            connection.close()
        other.close()


def test_heads_queued_behind_a_long_request_are_limited(server: Server, caller: Caller) -> None:
    more = head(server, "GET /version", "X: " + "x" * 100_000)
    with caller.socket() as connection:
        connection.sendall(head(server, f"GET {MAPS}?watch=1&allowWatchBookmarks=true"))
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        send(connection, *([more] * 30))
        received(connection)  # ends


@pytest.mark.parametrize("begin", [b"", b"G", b"GET /version HTTP/1.1\r\nHost: lo"])
def test_a_head_that_takes_too_long_is_disconnected(server: Server, caller: Caller, begin: bytes) -> None:
    with caller.socket() as connection:
        connection.sendall(begin)
        server.block_until_idle()
        server.advance(31)
        connection.sendall(b"")
        server.advance(2)
        assert received(connection) == b""


def test_the_timeout_of_a_second_head_starts_with_its_first_byte(server: Server, caller: Caller) -> None:
    with caller.socket() as connection, connection.makefile("rb") as responses:
        connection.sendall(head(server, "GET /version"))
        assert responses.readline().startswith(b"HTTP/1.1 200")
        lines = list(iter(responses.readline, b"\r\n"))
        [length] = [int(line.split()[1]) for line in lines if line.lower().startswith(b"content-length:")]
        responses.read(length)
        server.advance(3_600)  # idle
        connection.sendall(b"GET /version HTTP/1.1\r\n")
        server.block_until_idle()
        server.advance(31)
        connection.sendall(b"Host: localhost\r\n\r\n")
        assert responses.readline().startswith(b"HTTP/1.1 200")


# Bodies


@pytest.mark.parametrize(("authorization", "code"), [("", b"403"), ("Authorization: Bearer wrong\r\n", b"401")])
def test_without_a_token_no_body_is_waited_for(caller: Caller, authorization: str, code: bytes) -> None:
    with caller.socket() as connection:
        connection.sendall(
            f"POST {MAPS} HTTP/1.1\r\nHost: localhost\r\n{authorization}Expect: 100-continue\r\n"
            "Content-Type: application/json\r\nContent-Length: 3000000\r\n\r\n{".encode()
        )
        response = connection.recv(65536)
        assert response.startswith(b"HTTP/1.1 " + code)
        assert b"Connection: close" in response


def test_a_request_without_a_token_is_seen_without_its_body(server: Server) -> None:
    stranger = Caller(server.url)
    assert stranger.call("POST", MAPS, config_map("a")).code == 403
    stranger.close()

    [seen] = server.requests
    assert (seen.method, seen.info.verb, seen.code, seen.body) == ("POST", "create", 403, b"")


def test_unauthenticated_endpoints_read_no_body(server: Server) -> None:
    stranger = Caller(server.url)
    assert stranger.call("POST", "/version", b"x" * 100).code in {200, 405}
    assert stranger.call("GET", "/healthz", b"x" * 2_000_000).code == 200
    stranger.close()
    assert [request.body for request in server.requests] == [b"", b""]


def test_the_total_size_of_bodies_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masthead_server.body.MAX_BODIES_BYTES", 4 * MEBIBYTE)
    with masthead.server.run() as server:
        caller = Caller(server.url, server.token)
        begun = head(server, f"POST {MAPS}", f"Content-Type: {JSON}", "Content-Length: 3000000")
        connections = [caller.socket() for _ in range(2)]
        for connection in connections:
            send(connection, begun, b" " * 2_990_000)
        # The one that came too late is rejected; the other keeps its budget.
        ready, _, _ = select.select(connections, [], [], PATIENCE)
        assert len(ready) == 1
        response = ready[0].recv(65536)
        assert response.startswith(b"HTTP/1.1 429 ")
        assert b"Retry-After: 1\r\n" in response
        for connection in connections:
            connection.close()
        server.block_until_idle()
        assert caller.call("POST", MAPS, config_map("a")).code == 201
        caller.close()


def test_a_body_that_takes_too_long_gets_a_timeout(server: Server, caller: Caller) -> None:
    with caller.socket() as connection:
        connection.sendall(head(server, f"POST {MAPS}", f"Content-Type: {JSON}", "Content-Length: 10"))
        connection.sendall(b"{")
        server.block_until_idle()
        server.advance(61)
        assert connection.recv(65536).startswith(b"HTTP/1.1 504 ")


@pytest.mark.parametrize(
    "framing",
    [b"1;" + b"x" * 2 * MEBIBYTE, b"0\r\n" + b"X: y\r\n" * 2_000, b"0\r\nX: " + b"y" * 2 * MEBIBYTE],
    ids=["extension", "trailers", "trailer"],
)
def test_the_framing_of_a_chunked_body_is_limited(server: Server, caller: Caller, framing: bytes) -> None:
    with caller.socket() as connection:
        begun = head(server, f"POST {MAPS}", f"Content-Type: {JSON}", "Transfer-Encoding: chunked")
        send(connection, begun, b"2\r\n{}\r\n", framing)
        assert not received(connection).startswith(b"HTTP/1.1 2")
    assert caller.call("GET", "/healthz").code == 200


# Responses that are not read


def create_large_maps(caller: Caller) -> None:
    """Store objects whose list is longer than what sockets hold."""
    for number in range(14):
        created = caller.call("POST", MAPS, config_map(f"large-{number}", data={"k": "v" * 1_000_000}))
        assert created.code == 201


@contextmanager
def not_reading(server: Server, line: str = f"GET {MAPS}") -> Iterator[socket.socket]:
    """Send a request, and read no more than the beginning of its response."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        address = urlsplit(server.url)
        connection.connect((address.hostname, address.port))
        connection.sendall(head(server, line))
        assert connection.recv(12) == b"HTTP/1.1 200"
        yield connection


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that holds few bytes of responses."""
    monkeypatch.setattr("masthead_server.response_limiter.MAX_RESPONSES_BYTES", 4 * MEBIBYTE)
    with masthead.server.run(clock=VirtualClock, bootstrap=False) as running:
        yield running


@pytest.fixture
def other(small: Server) -> Iterator[Caller]:
    made = Caller(small.url, small.token)
    create_large_maps(made)
    yield made
    made.close()


def test_large_lists_are_refused_while_clients_do_not_read_theirs(small: Server, other: Caller) -> None:
    with not_reading(small):
        refused = other.call("GET", MAPS)
        assert refused.failure == (
            429,
            "TooManyRequests",
            "clients have not read 13 MiB of responses of this server: try again later",
        )
        assert refused.headers["retry-after"] == "1"
        assert [request.code for request in small.requests][-1] == 429
    small.block_until_idle()
    assert other.call("GET", MAPS).code == 200


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/readyz", 200),
        ("GET", f"{MAPS}?limit=0&fieldSelector=metadata.name%3Dnone", 200),
        ("GET", f"{MAPS}/none", 404),
        ("POST", MAPS, 201),
    ],
)
def test_small_responses_are_sent_while_clients_do_not_read_large_ones(
    small: Server, other: Caller, method: str, path: str, code: int
) -> None:
    with not_reading(small):
        assert other.call(method, path, config_map("a") if method == "POST" else None).code == code


def test_a_write_whose_large_response_is_not_sent_may_have_taken_effect(small: Server, other: Caller) -> None:
    with not_reading(small):
        patch = {"metadata": {"labels": {"a": "b"}}}
        refused = other.call("PATCH", f"{MAPS}/large-0", patch, content_type=MERGE_PATCH)
        assert refused.failure == (
            504,
            "Timeout",
            (
                "clients have not read 13 MiB of responses of this server, so that this one was not sent: "
                "the request may have taken effect"
            ),
        )
    small.block_until_idle()
    assert other.call("GET", f"{MAPS}/large-0").json["metadata"]["labels"] == {"a": "b"}


async def test_a_health_check_does_not_wait_for_all_large_lists_that_came_before_it() -> None:
    async with masthead.server.run(clock=VirtualClock(), token=None, bootstrap=False) as running:
        with ExitStack() as opened:
            lists = [opened.enter_context(await connect(running)) for _ in range(50)]
            check = opened.enter_context(await connect(running))
            body = json.dumps(config_map("large", data={"k": "v" * 500_000})).encode()
            headers = [f"Content-Type: {JSON}", f"Content-Length: {len(body)}", f"Accept: {ONLY_METADATA}"]
            await exchange(check, head(running, f"POST {MAPS}", *headers) + body)
            # In one turn of the loop, which is the server's, too.
            for connection in lists:
                connection.send(head(running, f"GET {MAPS}"))
            assert (await exchange(check, head(running, "GET /readyz"))).startswith(b"HTTP/1.1 200")
            waiting = [connection for connection in lists if not select.select([connection], [], [], 0)[0]]
            assert len(waiting) > 25
            for connection in waiting:
                assert (await asyncio.get_running_loop().sock_recv(connection, 100)).startswith(b"HTTP/1.1 200")


async def connect(server: Server) -> socket.socket:
    """Open a connection that the server has accepted."""
    address = urlsplit(server.url)
    connection = socket.socket()
    connection.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connection, (address.hostname, address.port))
    await exchange(connection, head(server, "GET /readyz"))
    return connection


async def exchange(connection: socket.socket, request: bytes) -> bytes:
    """Send a request, and return the beginning of its response."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, request)
    return await loop.sock_recv(connection, 1_000_000)


# History


def test_a_watch_from_before_the_history_expires() -> None:
    with masthead.server.run(clock=VirtualClock, history_bytes=MEBIBYTE) as server:
        caller = Caller(server.url, server.token)
        first = caller.call("POST", MAPS, config_map("a")).json["metadata"]["resourceVersion"]
        for number in range(20):
            body = config_map("a", data={"a": str(number) * 100_000})
            assert caller.call("PUT", f"{MAPS}/a", body).code == 200
        [event] = caller.events(f"{MAPS}?watch=1&resourceVersion={first}", 1)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        caller.close()


# Headers that are no text


@pytest.mark.parametrize(
    "header",
    [
        b"Authorization: Bearer \xff\xfe",
        b"Authorization: Bearer \xed\xa0\x80",
        b"Authorization: Basic \xff",
        b"Authorization: Basic " + b"/" * 400_000,
        b"Authorization: \xff \xff",
        b"Authorization: Bearer\t\xff",
        b"Authorization: Bearer " + b"\xf0\x9f\x98\x80" * 1000,
    ],
)
def test_a_credential_that_is_no_text_is_rejected(caller: Caller, header: bytes) -> None:
    with caller.socket() as connection:
        request = f"GET {MAPS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
        connection.sendall(request + header + b"\r\n\r\n")
        response = received(connection)
    assert response.startswith((b"HTTP/1.1 401 ", b"HTTP/1.1 403 ")), response[:200]
    assert b'"kind":"Status"' in response


@pytest.mark.parametrize("value", [b"\xff", b"application/\xff", b"a;\xff=\xff", b"\xed\xa0\x80", b"=?utf-8?b?/w==?="])
@pytest.mark.parametrize(
    "name",
    [
        b"Accept",
        b"Content-Type",
        b"Content-Encoding",
        b"Accept-Encoding",
        b"User-Agent",
        b"If-None-Match",
        b"Expect",
        b"Impersonate-User",
        b"Impersonate-Group",
        b"Impersonate-Extra-\xc3\xbf",
        b"Origin",
        b"X-Forwarded-Host",
    ],
)
@pytest.mark.parametrize("line", ["GET /version", f"GET {MAPS}", f"POST {MAPS}", f"PATCH {MAPS}/a"])
def test_no_header_makes_the_server_fail(
    open_server: Server, line: str, name: bytes, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caller = Caller(open_server.url)
    with caller.socket() as connection:
        request = f"{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n".encode()
        connection.sendall(request + name + b": " + value + b"\r\n\r\n{}")
        response = received(connection)
    caller.close()
    assert response.startswith((b"HTTP/1.1 2", b"HTTP/1.1 4", b"HTTP/1.0 400")), response[:300]
    assert not caplog.records


@pytest.mark.parametrize("path", [b"/\xff", b"/api/v1/namespaces/\xff", b"/api/v1/pods?labelSelector=\xff", b"/%ff"])
def test_no_path_makes_the_server_fail(open_server: Server, path: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caller = Caller(open_server.url)
    with caller.socket() as connection:
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        response = received(connection)
    caller.close()
    assert response.startswith((b"HTTP/1.1 2", b"HTTP/1.1 4", b"HTTP/1.0 400")), response[:300]
    assert not caplog.records


@pytest.mark.parametrize(
    ("seconds", "problem"),
    [
        (10**18, "may not specify a duration larger than 2^32 seconds"),
        (-(10**18), "may not specify a duration less than 10 minutes"),
        (599, "may not specify a duration less than 10 minutes"),
    ],
)
def test_a_token_with_too_long_a_lifetime_is_rejected_like_on_the_real_server(
    caller: Caller, seconds: int, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert caller.call("POST", accounts, {"metadata": {"name": "a"}}).code == 201
    refused = caller.call("POST", f"{accounts}/a/token", {"spec": {"expirationSeconds": seconds}})
    sentence = f"spec.expirationSeconds: Invalid value: {seconds}: {problem}"
    assert refused.failure == (
        422,
        "Invalid",
        f'TokenRequest.authentication.k8s.io "" is invalid: {sentence}',
    )
    assert not caplog.records


@pytest.mark.parametrize("seconds", [None, 600, 2**32])
def test_a_token_may_last_ten_minutes_or_a_century(caller: Caller, seconds: int | None) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert caller.call("POST", accounts, {"metadata": {"name": "a"}}).code == 201
    issued = caller.call("POST", f"{accounts}/a/token", {"spec": {"expirationSeconds": seconds}})
    assert (issued.code, issued.json["spec"]["expirationSeconds"]) == (201, seconds or 3600)


def test_indenting_does_not_blow_up_a_response(caller: Caller) -> None:
    revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
    data: dict[str, object] = {"a": [1] * 40_000}
    for _ in range(189):
        data = {"a": data}
    sent = {"metadata": {"name": "a"}, "revision": 1, "data": data}
    response = caller.call("POST", f"{revisions}?pretty=1", sent)
    assert response.code == 201
    assert response.json["metadata"]["name"] == "a"
    assert len(response.body) < 200_000
