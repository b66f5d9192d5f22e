"""The head of a request: its default headers, and what it rejects."""

from __future__ import annotations

import pytest

from masthead._transport.address import ServerAddress
from masthead._transport.contract import TransportRequest
from masthead._transport.request_head import RequestHeadEncoder
from masthead.errors import ArgumentError

HEADS = RequestHeadEncoder("/k8s", {"Host": "h:1", "Accept-Encoding": "gzip"})


@pytest.mark.parametrize(
    ("request_", "length"),
    [
        (TransportRequest("GET", "/"), b""),
        (TransportRequest("HEAD", "/"), b""),
        (TransportRequest("OPTIONS", "/"), b""),
        (TransportRequest("GET", "/", body=b"ab"), b"Content-Length: 2\r\n"),
        (TransportRequest("POST", "/"), b"Content-Length: 0\r\n"),
        (TransportRequest("PUT", "/", body=b""), b"Content-Length: 0\r\n"),
        (TransportRequest("PATCH", "/", body=b"abc"), b"Content-Length: 3\r\n"),
        (TransportRequest("DELETE", "/"), b"Content-Length: 0\r\n"),
    ],
)
def test_content_length_is_sent_where_a_body_is_expected(request_: TransportRequest, length: bytes) -> None:
    line = f"{request_.method} /k8s/ HTTP/1.1\r\n".encode()

    assert HEADS.write(request_).reveal() == line + b"Host: h:1\r\nAccept-Encoding: gzip\r\n" + length + b"\r\n"


def test_a_requests_own_header_replaces_the_default() -> None:
    head = HEADS.write(TransportRequest("GET", "/", [("ACCEPT-encoding", "identity"), ("X", "ü")])).reveal()

    assert head == "GET /k8s/ HTTP/1.1\r\nHost: h:1\r\nACCEPT-encoding: identity\r\nX: ü\r\n\r\n".encode()


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_content_length_cannot_be_overridden(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^POST /x: {name.lower()} cannot be set"):
        HEADS.write(TransportRequest("POST", "/x", [(name, "5")], b"12345"))


@pytest.mark.parametrize("value", ["s3cret\r\nX: y", "s3cret\n", "\rs3cret", "s3cret\0", "s3cret\ud800"])
@pytest.mark.parametrize("in_name", [False, True], ids=["value", "name"])
def test_a_header_that_cannot_be_sent_is_refused_without_being_shown(value: str, *, in_name: bool) -> None:
    with pytest.raises(ArgumentError, match=r"^GET /x: a header cannot be sent") as caught:
        HEADS.write(TransportRequest("GET", "/x?y=z", [(value, "v") if in_name else ("n", value)]))

    assert "s3cret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/a\n", "/a\0b", "/ HTTP/1.1\r\n\r\nGET /b"])
def test_a_target_that_is_not_escaped_is_refused(target: str) -> None:
    with pytest.raises(ArgumentError, match="the target is not escaped") as caught:
        HEADS.write(TransportRequest("GET", target))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "place", "authority", "prefix"),
    [
        ("https://h", "h:443", "h", ""),
        ("https://h:443/", "h:443", "h", ""),
        ("https://h:80", "h:80", "h:80", ""),
        ("http://h:80/a/b/", "h:80", "h", "/a/b"),
        ("http://H:6443", "h:6443", "h:6443", ""),
        ("https://[::1]:6443", "[::1]:6443", "[::1]:6443", ""),
        ("https://[fe80::1%25eth0]", "[fe80::1%eth0]:443", "[fe80::1]", ""),
        ("https://bücher.example", "xn--bcher-kva.example:443", "xn--bcher-kva.example", ""),
    ],
)
def test_a_server_address_is_parsed(url: str, place: str, authority: str, prefix: str) -> None:
    server = ServerAddress.parse(url)

    assert (server.place, server.authority, server.prefix) == (place, authority, prefix)


@pytest.mark.parametrize("name", ["Transfer-Encoding ", " Host", "X\t", "X:", "", "X\r\nY", "X\0", "Ü", "X Y", "(X)"])
def test_an_ambiguous_header_name_is_rejected(name: str) -> None:
    with pytest.raises(ArgumentError, match="a header cannot be sent: its name"):
        HEADS.write(TransportRequest("GET", "/", [(name, "chunked")]))


@pytest.mark.parametrize("name", ["X-Remote-Extra-Scopes%2fa", "x_y", "Accept", "!#$%&'*+-.^_`|~", "9"])
def test_every_name_that_http_allows_is_sent(name: str) -> None:
    assert f"{name}: a\r\n".encode() in HEADS.write(TransportRequest("GET", "/", [(name, "a")])).reveal()
