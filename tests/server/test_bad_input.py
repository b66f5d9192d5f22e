"""Bad requests are rejected with the Status that a real kube-apiserver gave."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest
from tests.server.bad_requests import LIMIT, MAPS, RECORDED, Case, all_cases, prepare, summary_of
from tests.server.calls import Caller, config_map

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server import Server

TOKEN = "let-me-in"
ANSWERS = json.loads(RECORDED.read_text("utf-8"))
TOO_LARGE = (413, "RequestEntityTooLarge", f"Request entity too large: limit is {LIMIT}")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(token=TOKEN, controllers=False) as server:
        yield server


@pytest.fixture(scope="module")
def caller(server: Server) -> Iterator[Caller]:
    caller = Caller(server.url, TOKEN)
    prepare(caller)
    yield caller
    caller.close()


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.title)
def test_a_bad_request_is_rejected_like_on_the_real_server(case: Case, caller: Caller, server: Server) -> None:
    before = server.revision
    assert summary_of(case.put_to(caller)) == ANSWERS[case.title]
    assert server.revision == before


def test_every_recorded_response_has_its_request() -> None:
    assert ANSWERS.keys() == {case.title for case in all_cases()}
    assert all(400 <= response["code"] < 600 for response in ANSWERS.values())


def test_a_body_at_the_limit_is_accepted(caller: Caller) -> None:
    body = (b" " * LIMIT + json.dumps(config_map("just-right")).encode())[-LIMIT:]
    assert caller.call("POST", MAPS, body).code == 201


def chunked(body: bytes) -> bytes:
    """A request of unknown length."""
    head = (
        f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    pieces = [body[start : start + 65536] for start in range(0, len(body), 65536)]
    return head.encode() + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def answer_to(caller: Caller, sent: bytes) -> bytes:
    with caller.socket() as connection, connection.makefile("rb") as received:
        connection.sendall(sent)
        return received.read()


def test_a_chunked_body_has_the_same_limit(caller: Caller) -> None:
    body = json.dumps(config_map("pieces")).encode()
    assert answer_to(caller, chunked(body)).startswith(b"HTTP/1.1 201 ")
    response = answer_to(caller, chunked((b" " * LIMIT + body)[-LIMIT - 1 :]))
    assert response.startswith(b"HTTP/1.1 413 ")
    status = json.loads(response.partition(b"\r\n\r\n")[2])
    assert (status["code"], status["reason"], status["message"]) == TOO_LARGE


@pytest.mark.parametrize("ending", ["the client shuts down its side", "the client vanishes"])
def test_half_a_request_changes_nothing(caller: Caller, server: Server, ending: str) -> None:
    body = json.dumps(config_map("half")).encode()
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    before = server.revision
    with caller.socket() as connection:
        connection.sendall(head.encode() + body[:-1])
        if ending == "the client vanishes":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        else:
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(65536) == b""
    server.block_until_idle()
    assert caller.call("GET", f"{MAPS}/half").code == 404
    assert server.revision == before


def test_a_long_selector_fits_into_a_path(caller: Caller) -> None:
    names = ",".join(f"name-{number}" for number in range(3000))
    assert caller.call("GET", f"{MAPS}?labelSelector=app%20in%20({names})").code == 200


def test_content_encoding_is_ignored(caller: Caller) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd", "nope"):
        body = config_map(f"not-really-{encoding}")
        assert caller.call("POST", MAPS, body, headers={"Content-Encoding": encoding}).code == 201
