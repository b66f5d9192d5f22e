"""The client against real servers: the embedded one, and others that behave badly."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.servers import (
    ReceivedRequest,
    always,
    chunk,
    http_response,
    never,
    once,
    receive,
    serving,
)

import masthead.server
from masthead._rest.call import Call, Subject
from masthead._rest.connect import connect
from masthead._rest.settings import RestSettings
from masthead.config import Config, from_kubeconfig
from masthead.errors import (
    ArgumentError,
    ConnectError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    NotFoundError,
    ProtocolError,
    StatusError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._rest.client import RestClient

JSON = "Content-Type: application/json"
QUICK = RestSettings(attempts=1)


@asynccontextmanager
async def client_of(url: str, settings: RestSettings = QUICK, **config: object) -> AsyncIterator[RestClient]:
    made = connect(Config(server=url, **config), settings, connections=4)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        await made.close()


async def test_objects_are_created_read_and_deleted() -> None:
    async with masthead.server.run() as server:
        rest = connect(from_kubeconfig(server.kubeconfig()), RestSettings(), connections=4)
        path = "/api/v1/namespaces/default/configmaps"
        await rest.post(path, b'{"metadata":{"name":"a"},"data":{"k":"1"}}')
        await rest.patch(f"{path}/a", b'{"data":{"k":"2"}}', content_type="application/merge-patch+json")
        found = (await rest.get(f"{path}/a")).json()
        assert isinstance(found, dict)
        assert found["data"] == {"k": "2"}
        await rest.delete(f"{path}/a")
        with pytest.raises(NotFoundError) as caught:
            await rest.get(f"{path}/a")
        assert (caught.value.verb, caught.value.name, caught.value.code) == ("get", "a", 404)
        await rest.close()


async def test_a_busy_server_is_retried() -> None:
    async with masthead.server.run() as server:
        rest = connect(from_kubeconfig(server.kubeconfig()), RestSettings(), connections=4)
        server.faults.throttle(retry_after=0, resource="configmaps")
        await rest.post("/api/v1/namespaces/default/configmaps", b'{"metadata":{"name":"a"}}')
        assert [seen.code for seen in server.requests] == [429, 201]
        assert {seen.body for seen in server.requests} == {b'{"metadata":{"name":"a"}}'}
        await rest.close()


async def test_a_watch_is_a_stream_of_lines() -> None:
    async with masthead.server.run() as server:
        rest = connect(from_kubeconfig(server.kubeconfig()), RestSettings(), connections=4)
        watch = Call(
            "GET",
            "/api/v1/namespaces",
            Subject("watch", "namespaces"),
            [("watch", "1"), ("timeoutSeconds", "1000")],
        )
        async with await rest.open(watch) as stream:
            [first, *_] = await anext(stream.batches())
        assert first.startswith(b'{"type":"ADDED","object":{')
        await rest.close()


async def test_a_watch_with_a_truncated_line_raises() -> None:
    async with masthead.server.run() as server:
        rest = connect(from_kubeconfig(server.kubeconfig()), RestSettings(), connections=4)
        server.faults.cut_watch(after=0)
        stream = await rest.open(Call("GET", "/api/v1/namespaces", Subject("watch", "namespaces"), [("watch", "1")]))
        with pytest.raises(ProtocolError, match="cut short"):
            [batch async for batch in stream.batches()]
        await rest.close()


async def test_a_wrong_token_is_rejected_and_not_quoted() -> None:
    async with masthead.server.run() as server, client_of(server.url, token="wrong-token-77") as rest:
        with pytest.raises(UnauthorizedError) as caught:
            await rest.get("/api/v1/namespaces")
        assert "wrong-token-77" not in str(caught.value)


async def test_an_html_page_instead_of_an_api_server_is_an_error() -> None:
    page = http_response(b"<html><title>Login</title></html>", "Content-Type: text/html")
    async with serving(always(page)) as served, client_of(served.url) as rest:
        with pytest.raises(ProtocolError, match='an HTML page titled "Login" instead of JSON'):
            await rest.get("/version")


async def test_a_redirect_is_not_followed() -> None:
    seen: list[ReceivedRequest] = []
    async with serving(always(http_response(b"", status="200 OK"), seen)) as other:
        moved = http_response(b"", f"Location: {other.url}/login?state=hush", status="302 Found")
        async with serving(always(moved)) as served, client_of(served.url, token="t") as rest:
            with pytest.raises(StatusError, match=r"a redirect to http://127\.0\.0\.1/login; redirects") as caught:
                await rest.get("/version")
    assert caught.value.code == 302
    assert not seen


async def test_a_truncated_body_is_an_error() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    async with serving(once(half)) as served, client_of(served.url) as rest:
        with pytest.raises(ProtocolError, match=r"get /version: the response of .* was cut short"):
            await rest.get("/version")


async def test_a_truncated_document_of_the_announced_length_is_an_error() -> None:
    async with serving(always(http_response(b'{"a":', JSON))) as served, client_of(served.url) as rest:
        with pytest.raises(DecodeError, match="the response to get /version is not JSON"):
            (await rest.get("/version")).json()


async def test_a_truncated_error_body_is_raised_by_its_status_code() -> None:
    half = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 99\r\n\r\nyou may"
    async with serving(once(half)) as served, client_of(served.url) as rest:
        with pytest.raises(ForbiddenError, match="you may"):
            await rest.get("/version")


async def test_no_response_at_all_exceeds_the_deadline() -> None:
    async with serving(never) as served, client_of(served.url) as rest:
        with pytest.raises(DeadlineError, match="get /version: "):
            await rest.get("/version", timeout=0.02)
        with pytest.raises(DeadlineError, match="watch x: no response began within"):
            await rest.open(Call("GET", "/x", Subject("watch", "x"), timeout=0.02))


async def test_connection_refused() -> None:
    async with serving(never) as served:
        port = served.port
    async with client_of(f"http://127.0.0.1:{port}") as rest:
        with pytest.raises(ConnectError, match=f"get /version: 127.0.0.1:{port} refused the connection"):
            await rest.get("/version")


async def test_an_endless_error_body_is_truncated_and_the_client_stays_usable() -> None:
    hung_up = asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen = await receive(reader)
        if "/flood" not in seen.line:
            writer.write(http_response(b"{}", JSON))
            return
        writer.write(b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(chunk(b"x" * 65536))
                await writer.drain()
        except ConnectionError:
            hung_up.set()

    async with serving(flood) as served, client_of(served.url) as rest:
        with pytest.raises(ForbiddenError):
            await rest.get("/flood")
        await hung_up.wait()
        assert (await rest.get("/version")).status == 200


async def test_an_invalid_header_is_rejected_before_anything_is_sent() -> None:
    seen: list[ReceivedRequest] = []
    async with serving(always(http_response(), seen)) as served, client_of(served.url) as rest:
        with pytest.raises(ArgumentError, match="cannot be sent"):
            await rest.get("/version", headers={"X": "a\r\nHost: evil"})
    assert not seen


@pytest.mark.parametrize("plain", [True, False])
async def test_compressed_responses_are_requested_by_default(plain: bool) -> None:
    seen: list[ReceivedRequest] = []
    async with (
        serving(always(http_response(b"{}", JSON), seen)) as served,
        client_of(served.url, disable_compression=plain) as rest,
    ):
        await rest.get("/version")
    assert seen[0].headers["accept-encoding"] == ("identity" if plain else "gzip")
