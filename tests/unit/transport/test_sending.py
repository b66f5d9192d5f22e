"""Requests as sent over the wire, and their responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.servers import OK, ReceivedRequest, always, http_response, serving

from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead.errors import ArgumentError, ConfigError, DeadlineError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
def seen() -> list[ReceivedRequest]:
    return []


@pytest.fixture
async def transport(seen: list[ReceivedRequest]) -> AsyncIterator[HttpTransport]:
    async with serving(always(OK, seen)) as server:
        made = HttpTransport(server.url, tls=None)
        yield made
        await made.close()


async def test_a_response_has_a_status_headers_and_a_body() -> None:
    sent = http_response(b"{}", "Warning: 299 - a", "WARNING: 299 - b", "X-Odd: 1", status="404 Not Found")
    async with serving(always(sent)) as server:
        transport = HttpTransport(server.url, tls=None)
        response = await transport.send(TransportRequest("GET", "/"))

        assert response.status == 404
        assert response.header("x-odd") == "1"
        assert response.header("X-None") == ""
        assert response.headers_of("warning") == ["299 - a", "299 - b"]
        assert response.headers_of("x-none") == []
        assert await response.read() == b"{}"
        await transport.close()


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "PATCH", "DELETE"])
async def test_method_body_and_headers_are_sent_as_given(
    transport: HttpTransport, seen: list[ReceivedRequest], method: str
) -> None:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer t", "User-Agent": "me/1"}
    response = await transport.send(TransportRequest(method, "/x", tuple(headers.items()), b'{"a":1}'))

    assert await response.read() == b"ok"
    assert seen[0].line == f"{method} /x HTTP/1.1"
    assert seen[0].body == b'{"a":1}'
    assert seen[0].headers.items() >= {name.lower(): value for name, value in headers.items()}.items()


async def test_a_header_may_be_sent_more_than_once(transport: HttpTransport, seen: list[ReceivedRequest]) -> None:
    groups = [("Impersonate-Group", "a"), ("Impersonate-Group", "b")]
    await (await transport.send(TransportRequest("GET", "/", groups))).read()

    assert [value for name, value in seen[0].pairs if name == "impersonate-group"] == ["a", "b"]


async def test_the_target_is_sent_byte_for_byte(transport: HttpTransport, seen: list[ReceivedRequest]) -> None:
    target = "/api/v1/pods/a%2Fb%20c/proxy/%7e~?labelSelector=a%3D%C3%BC+b,c&&x=%2f"
    await (await transport.send(TransportRequest("GET", target))).read()

    assert seen[0].line == f"GET {target} HTTP/1.1"


async def test_the_path_of_the_server_address_prefixes_every_target(seen: list[ReceivedRequest]) -> None:
    async with serving(always(OK, seen)) as server:
        transport = HttpTransport(f"{server.url}/k8s/clusters/c-1/", tls=None)
        for target in ("/version", "/api/"):
            await (await transport.send(TransportRequest("GET", target))).read()
        await transport.close()

    assert [request.line for request in seen] == [
        "GET /k8s/clusters/c-1/version HTTP/1.1",
        "GET /k8s/clusters/c-1/api/ HTTP/1.1",
    ]


async def test_a_delete_without_a_body_sends_content_length_zero(
    transport: HttpTransport, seen: list[ReceivedRequest]
) -> None:
    await (await transport.send(TransportRequest("DELETE", "/x"))).read()

    assert seen[0].headers["content-length"] == "0"


async def test_a_large_body_is_sent_whole_and_without_a_warning(
    transport: HttpTransport, seen: list[ReceivedRequest]
) -> None:
    body = bytes(range(256)) * 2**13
    await (await transport.send(TransportRequest("POST", "/x", body=body))).read()

    assert seen[0].body == body


async def test_the_response_to_head_has_no_body() -> None:
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\n\r\n"
    async with serving(always(sent)) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(2):
            assert await (await transport.send(TransportRequest("HEAD", "/x"))).read() == b""
        await transport.close()

        assert server.connections == 1


@pytest.mark.parametrize(("compression", "expected"), [(True, "gzip"), (False, "identity")])
async def test_compression_can_be_disabled(*, compression: bool, expected: str, seen: list[ReceivedRequest]) -> None:
    async with serving(always(OK, seen)) as server:
        transport = HttpTransport(server.url, tls=None, compression=compression)
        await (await transport.send(TransportRequest("GET", "/"))).read()
        await transport.close()

    assert seen[0].headers["accept-encoding"] == expected


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirect_is_returned_and_not_followed(status: str, seen: list[ReceivedRequest]) -> None:
    async with serving(always(OK, seen)) as elsewhere:
        sent = http_response(b"", f"Location: {elsewhere.url}/stolen", status=status)
        async with serving(always(sent)) as server:
            transport = HttpTransport(server.url, tls=None)
            response = await transport.send(TransportRequest("GET", "/", [("Authorization", "Bearer t")]))
            await transport.close()

    assert response.status == int(status[:3])
    assert response.header("Location").endswith("/stolen")
    assert not seen


async def test_cookies_are_not_kept(seen: list[ReceivedRequest]) -> None:
    async with serving(always(http_response(b"", "Set-Cookie: a=b"), seen)) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(2):
            await (await transport.send(TransportRequest("GET", "/"))).read()
        await transport.close()

    assert "cookie" not in seen[1].headers


async def test_proxies_of_the_environment_are_ignored(
    transport: HttpTransport, seen: list[ReceivedRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    await (await transport.send(TransportRequest("GET", "/"))).read()

    assert len(seen) == 1


async def test_a_header_with_a_line_break_is_refused_without_being_shown(transport: HttpTransport) -> None:
    with pytest.raises(ArgumentError) as caught:
        await transport.send(TransportRequest("GET", "/x", [("Authorization", "Bearer s3cret\r\nX: y")]))

    assert "s3cret" not in str(caught.value)
    assert str(caught.value).startswith("GET /x: ")


@pytest.mark.parametrize(("total", "read_timeout"), [(0.0, None), (-1.0, None), (None, 0.0)])
async def test_nothing_is_sent_when_no_time_is_left(
    transport: HttpTransport, seen: list[ReceivedRequest], total: float | None, read_timeout: float | None
) -> None:
    with pytest.raises(DeadlineError, match="not sent"):
        await transport.send(TransportRequest("GET", "/", timeout=total, read_timeout=read_timeout))

    assert not seen


@pytest.mark.parametrize("server", ["", "10.0.0.1:6443", "ftp://h", "https://", "http://h:port", "https://[::1"])
def test_an_invalid_address_is_a_config_error(server: str) -> None:
    with pytest.raises(ConfigError, match="https://host:port"):
        HttpTransport(server, tls=None)


async def test_a_password_in_the_address_is_neither_sent_nor_shown(seen: list[ReceivedRequest]) -> None:
    async with serving(always(OK, seen)) as server:
        transport = HttpTransport(f"http://user:s3cret@127.0.0.1:{server.port}", tls=None)
        await (await transport.send(TransportRequest("GET", "/"))).read()
        await transport.close()

    assert "authorization" not in seen[0].headers


def test_a_request_shows_neither_headers_nor_body() -> None:
    shown = repr(TransportRequest("GET", "/x", [("Authorization", "Bearer s3cret")], b"s3cret"))

    assert "s3cret" not in shown
