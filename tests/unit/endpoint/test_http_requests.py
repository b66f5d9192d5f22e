"""Heads of HTTP requests: supported requests are parsed, others are errors with a status."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPResponse
from io import BytesIO
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._endpoint.http_requests import (
    EndpointResponse,
    RequestError,
    encode_response,
    parse_request,
    text_response,
)

if TYPE_CHECKING:
    from socket import socket


def head(*lines: str) -> bytes:
    return "\r\n".join(lines).encode("latin-1")


def test_a_request_has_method_path_query_and_headers() -> None:
    found = parse_request(head("GET /a%20b/c?verbose&x=1&x=2 HTTP/1.1", "Host: web:80", "Accept: a", "ACCEPT:  b "))
    assert (found.method, found.path) == ("GET", "/a b/c")
    assert found.query == {"verbose": [""], "x": ["1", "2"]}
    assert found.headers == {"host": "web:80", "accept": "a, b"}
    assert found.keeps_alive


@pytest.mark.parametrize(
    ("lines", "keeps_alive"),
    [
        (["GET / HTTP/1.1"], True),
        (["GET / HTTP/1.0"], False),
        (["GET / HTTP/1.1", "Connection: Close"], False),
        (["GET / HTTP/1.1", "Connection: upgrade, close"], False),
        (["HEAD / HTTP/1.1", "Connection: keep-alive"], True),
    ],
)
def test_a_connection_stays_open_unless_the_client_closes_it(lines: list[str], keeps_alive: bool) -> None:
    assert parse_request(head(*lines)).keeps_alive is keeps_alive


def test_the_absolute_form_is_its_path() -> None:
    assert parse_request(head("GET http://web:80/metrics?x HTTP/1.1")).path == "/metrics"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([""], 400),
        (["GET /"], 400),
        (["GET  / HTTP/1.1"], 400),
        (["GE\tT / HTTP/1.1"], 400),
        (["GET web HTTP/1.1"], 400),
        (["GET ftp://web/ HTTP/1.1"], 400),
        (["GET /\x7f HTTP/1.1"], 400),
        (["GET /\xe4 HTTP/1.1"], 400),
        (["GET / HTTP/2.0"], 505),
        (["GET / HTTP/1.12"], 505),
        (["\x16\x03\x01 \x02 \x01"], 400),
        (["POST / HTTP/1.1"], 405),
        (["OPTIONS * HTTP/1.1"], 405),
        (["GET / HTTP/1.1", "Content-Length: 3"], 413),
        (["GET / HTTP/1.1", "Content-Length: 00"], 413),
        (["GET / HTTP/1.1", "Transfer-Encoding: chunked"], 413),
        (["GET / HTTP/1.1", "no colon"], 400),
        (["GET / HTTP/1.1", "a: b", " folded: c"], 400),
        (["GET / HTTP/1.1", "a : b"], 400),
        (["GET / HTTP/1.1", "a: b\nc: d"], 400),
        (["GET / HTTP/1.1", *(f"a{number}: b" for number in range(101))], 431),
        ([f"GET /{'a' * 5000} HTTP/1.1"], 414),
        ([f"GET /?{'a&' * 100} HTTP/1.1"], 400),
    ],
)
def test_what_is_not_served_is_an_error(lines: list[str], status: int) -> None:
    with pytest.raises(RequestError) as raised:
        parse_request(head(*lines))
    assert raised.value.status == status


@given(st.binary(max_size=200) | st.builds(lambda rest: b"GET /" + rest, st.binary(max_size=200)))
def test_any_bytes_are_a_request_or_an_error(data: bytes) -> None:
    with suppress(RequestError):
        found = parse_request(data)
        assert found.method in {"GET", "HEAD"}
        assert found.path.startswith("/")


class FakeSocket:
    """A socket for http.client with the bytes of a response."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> BytesIO:
        del mode
        return BytesIO(self._data)


def parsed(data: bytes, method: str = "GET") -> HTTPResponse:
    found = HTTPResponse(cast("socket", FakeSocket(data)), method=method)
    found.begin()
    return found


@given(
    st.binary(),
    st.sampled_from([HTTPStatus.OK, HTTPStatus.NOT_FOUND, HTTPStatus.INTERNAL_SERVER_ERROR]),
    st.booleans(),
)
def test_a_response_is_read_by_other_implementations(body: bytes, status: HTTPStatus, keeps_alive: bool) -> None:
    response = EndpointResponse(status, body, headers=(("X-Test", "1"),))
    found = parsed(encode_response(response, has_body=True, keeps_alive=keeps_alive))
    assert (found.status, found.read(), found.getheader("X-Test")) == (status, body, "1")
    assert found.will_close is not keeps_alive
    without = parsed(encode_response(response, has_body=False, keeps_alive=keeps_alive), "HEAD")
    assert without.getheader("Content-Length") == str(len(body))
    assert without.read() == b""


def test_text_that_cannot_be_encoded_is_escaped() -> None:
    assert text_response("\ud800").body == b"\\ud800"
