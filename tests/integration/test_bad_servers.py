"""Broken servers, and peers that are not API servers: each is reported as an error, and none causes an endless wait."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.scripts import STREAM, client_of, config_map, event, json_response, listed, status
from tests.unit.transport.servers import always, chunk, http_response, never, once, receive, serving

from masthead.api.core.v1 import ConfigMap
from masthead.config import Config
from masthead.errors import (
    BadRequestError,
    ConnectError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    InternalServerError,
    MastheadError,
    ProtocolError,
    ServiceUnavailableError,
    StatusError,
)

if TYPE_CHECKING:
    from tests.unit.transport.servers import Handler

JSON = "Content-Type: application/json"
HTML = "Content-Type: text/html; charset=utf-8"
LOGIN = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Who are you?</body></html>"


WHOLE = json_response(config_map(data={"color": "red"}))
LISTED = listed()

Expected = tuple[bytes, type[MastheadError], str]

UNREADABLE: dict[str, Expected] = {
    "a login page": (http_response(LOGIN, HTML), ProtocolError, 'an HTML page titled "Sign in"'),
    "a page without a content type": (
        http_response(LOGIN),
        ProtocolError,
        "Is a proxy or a login page in front",
    ),
    "plain text": (
        http_response(b"ok", "Content-Type: text/plain"),
        ProtocolError,
        "text/plain instead of JSON",
    ),
    "protobuf": (
        http_response(b"k8s\0", "Content-Type: application/vnd.kubernetes.protobuf"),
        ProtocolError,
        "protobuf instead of JSON",
    ),
    "yaml": (http_response(b"kind: Pod", "Content-Type: application/yaml"), ProtocolError, "instead of JSON"),
    "an empty response": (http_response(b"", JSON), ProtocolError, "the response is empty"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", ProtocolError, "the response is empty"),
    "blanks": (http_response(b" \n\n ", JSON), ProtocolError, "the response is empty"),
    "nothing": (b"", ProtocolError, "closed the connection without a response"),
    "garbage": (b"SSH-2.0-OpenSSH_9.6\r\n", ProtocolError, "is not HTTP"),
    "noise": (bytes(range(256)) * 40, ProtocolError, "is not HTTP"),
    "half a head": (WHOLE[:30], ProtocolError, "closed the connection"),
    "half a body": (WHOLE[:-9], ProtocolError, "cut short or garbled"),
    "half a chunk": (STREAM + b"64\r\n{", ProtocolError, "cut short or garbled"),
    "a header without an end": (
        WHOLE[:15] + b"\r\nX: " + b"y" * 200_000,
        ProtocolError,
        "header is too long",
    ),
    "headers without an end": (WHOLE[:15] + b"\r\nX: y" * 100_000, ProtocolError, ""),
    "an encoding that was not requested": (
        http_response(b"?", JSON, "Content-Encoding: br"),
        ProtocolError,
        "'br', which was not requested",
    ),
    "json that is cut off": (http_response(WHOLE[-40:-9], JSON), DecodeError, ""),
    "json that stops": (json_response(config_map())[:-1] + b" ", DecodeError, ""),
    "bytes that are no text": (http_response(b'{"kind":"\xff\xfe"}', JSON), DecodeError, ""),
    "json without a bottom": (http_response(b"[" * 100_000, JSON), DecodeError, ""),
    "a number": (json_response(5), DecodeError, ""),
    "null": (json_response(None), DecodeError, ""),
    "an array": (json_response([config_map()]), DecodeError, ""),
    "a list": (json_response(LISTED), DecodeError, "ConfigMapList"),
    "another kind": (json_response(config_map() | {"kind": "Secret"}), DecodeError, "Secret"),
    "another version": (json_response(config_map() | {"apiVersion": "v2"}), DecodeError, "v2"),
    "success": (
        json_response({"apiVersion": "v1", "kind": "Status", "status": "Success"}),
        DecodeError,
        "Status",
    ),
    "invalid metadata": (json_response(config_map() | {"metadata": "x"}), DecodeError, "metadata"),
    "a name that is a number": (
        json_response(config_map() | {"metadata": {"name": 5}}),
        DecodeError,
        "metadata.name",
    ),
}

REFUSALS: dict[str, Expected] = {
    "a page that forbids": (http_response(LOGIN, HTML, status="403 No"), ForbiddenError, 'titled "Sign in"'),
    "a gateway's page": (
        http_response(LOGIN, HTML, status="502 Bad Gateway"),
        InternalServerError,
        "Is a proxy or a login",
    ),
    "a gateway's word": (
        http_response(b"upstream down", status="503 No"),
        ServiceUnavailableError,
        "upstream down",
    ),
    "a redirect": (
        http_response(b"", "Location: https://idp.example/login?state=s3cret", status="302 Found"),
        StatusError,
        "a redirect to https://idp.example/login; redirects are not followed",
    ),
    "an empty refusal": (
        http_response(b"", status="400 Bad Request"),
        BadRequestError,
        "the response is empty",
    ),
    "an invalid status": (json_response({"kind": "Status", "code": "x"}, "500 Oops"), InternalServerError, ""),
    "a status of success with 500": (
        json_response({"kind": "Status", "status": "Success"}, "500 Oops"),
        InternalServerError,
        "",
    ),
    "a status of failure with 200": (
        json_response(status(403, "Forbidden", "not you")),
        ForbiddenError,
        "not you",
    ),
    "a status without a code": (
        json_response(status(0, "Forbidden", "no"), "403 No"),
        ForbiddenError,
        "(403 Forbidden)",
    ),
    "a code of the future": (http_response(b"?", status="599 What"), InternalServerError, ""),
    "half a refusal": (json_response(status(403, "Forbidden", "no"), "403 No")[:-20], ForbiddenError, ""),
}


async def failure(handler: Handler, facade: str, **options: Any) -> MastheadError:
    """The outcome of reading one object."""
    async with serving(handler) as server:
        config = Config(server=server.url, token="t0ken")
        async with connected(config, facade, attempts=1, **options) as client:
            with pytest.raises(MastheadError) as caught:
                await client.core_v1.config_maps("shop").get("settings")
    assert "s3cret" not in f"{caught.value} {caught.value!r}"
    assert "t0ken" not in f"{caught.value} {caught.value!r}"
    return caught.value


@pytest.mark.parametrize("expected", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_an_invalid_response_is_an_error_with_its_reason(facade: str, expected: Expected) -> None:
    sent, kind, words = expected

    error = await failure(once(sent), facade)

    assert type(error) is kind
    assert words in str(error)
    assert len(str(error)) < 600


async def test_no_content_is_a_response_to_a_delete_only(facade: str) -> None:
    async with client_of(always(http_response(status="204 No Content")), facade, attempts=1) as client:
        maps = client.core_v1.config_maps("shop")
        assert await maps.delete("settings") is None
        await maps.delete_collection()
        with pytest.raises(ProtocolError, match=r"the response is empty \(HTTP 204\)"):
            await maps.get("settings")
    async with client_of(once(http_response()), facade, attempts=1) as client:
        with pytest.raises(ProtocolError, match=r"the response is empty \(HTTP 200\)"):
            await client.core_v1.config_maps("shop").delete("settings")


@pytest.mark.parametrize("expected", REFUSALS.values(), ids=REFUSALS.keys())
async def test_an_error_response_is_read_whatever_its_form(facade: str, expected: Expected) -> None:
    sent, kind, words = expected

    error = await failure(once(sent), facade)

    assert type(error) is kind
    assert isinstance(error, StatusError)
    assert str(error).startswith("get configmaps shop/settings: ")
    assert words in str(error)


def silent_after(sent: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(sent)
        await never(reader, writer)

    return handle


@pytest.mark.slow
@pytest.mark.parametrize(
    "handler",
    [never, silent_after(b"HTTP/1.1 2"), silent_after(WHOLE[:40]), silent_after(WHOLE[:-9])],
    ids=["at once", "in the status line", "in the head", "in the body"],
)
async def test_a_server_that_stalls_exceeds_the_deadline(facade: str, handler: Handler) -> None:
    error = await failure(handler, facade, timeout=0.2)

    assert type(error) is DeadlineError
    assert isinstance(error, TimeoutError)
    assert "get configmaps shop/settings" in str(error)


async def test_an_endless_response_head_exceeds_the_deadline_or_a_size_limit(facade: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not writer.is_closing():
            writer.write(b"X-More: and more\r\n")
            await writer.drain()
            await asyncio.sleep(0)

    error = await failure(handle, facade, timeout=10)

    assert isinstance(error, ProtocolError | DeadlineError)


async def test_a_connection_that_is_reset_is_lost(facade: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    error = await failure(handle, facade)

    assert type(error) is ProtocolError


async def test_a_closed_port_refuses_the_connection(facade: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        config = Config(server=f"http://127.0.0.1:{bound.getsockname()[1]}")
        async with connected(config, facade, attempts=1) as client:
            with pytest.raises(ConnectError, match="check that the API server runs there"):
                await client.core_v1.pods("shop").list()


async def test_a_server_without_tls_is_detected(facade: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(http_response(b"Client sent garbage", status="400 Bad Request"))

    async with (
        serving(handle) as server,
        connected(Config(server=server.secure_url), facade, attempts=1) as client,
    ):
        with pytest.raises(ConnectError, match="does not speak TLS; perhaps its address begins with http"):
            await client.core_v1.pods("shop").list()


async def test_a_stalled_tls_handshake_exceeds_the_deadline(facade: str) -> None:
    async with (
        serving(never) as server,
        connected(Config(server=server.secure_url), facade, timeout=0.2) as client,
    ):
        with pytest.raises(DeadlineError):
            await client.core_v1.pods("shop").list()


async def test_reads_are_retried_and_writes_are_not(facade: str) -> None:
    requests: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            requests.append((await receive(reader)).line.split()[0])
            if requests[-1] != "GET" or len(requests) < 3:
                return
            writer.write(WHOLE)

    async with client_of(handle, facade) as client:
        maps = client.core_v1.config_maps("shop")
        assert (await maps.get("settings")).data == {"color": "red"}
        with pytest.raises(ProtocolError, match="check whether the request was carried out"):
            await maps.create(ConfigMap.new("settings"))

    assert requests[-1] == "POST"
    assert requests.count("POST") == 1


LISTS: dict[str, tuple[object, str]] = {
    "an object": (config_map(), "ConfigMap"),
    "another list": (LISTED | {"kind": "SecretList"}, "SecretList"),
    "items that are none": (LISTED | {"items": "x"}, "items"),
    "an invalid item": (LISTED | {"items": [config_map("good"), 5]}, ""),
    "an item that is broken": (
        LISTED | {"items": [config_map("good"), config_map("bad") | {"metadata": {"name": 5}}]},
        "items[1]",
    ),
}


@pytest.mark.parametrize(("body", "words"), LISTS.values(), ids=LISTS.keys())
async def test_an_invalid_list_is_an_error(facade: str, body: object, words: str) -> None:
    async with client_of(once(json_response(body)), facade) as client:
        with pytest.raises(DecodeError) as caught:
            await client.core_v1.config_maps("shop").list()

    assert words in str(caught.value)


@pytest.mark.parametrize("items", [None, ...], ids=["null", "absent"])
async def test_a_list_without_items_is_empty(facade: str, items: object) -> None:
    """As Go writes a list of nothing."""
    body = {key: value for key, value in LISTED.items() if key != "items"}
    async with client_of(once(json_response(body if items is ... else body | {"items": None})), facade) as client:
        assert list(await client.core_v1.config_maps("shop").list()) == []


def streaming(*lines: bytes, hold: bool = False) -> Handler:
    """A watch that sends this, then ends or stays silent."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(STREAM + b"".join(chunk(line) for line in lines))
        await writer.drain()
        if hold:
            await never(reader, writer)
        writer.write(b"0\r\n\r\n")

    return handle


async def watched(handler: Handler, facade: str, **options: Any) -> list[Any]:
    """Every event of one stream."""
    async with (
        client_of(handler, facade, **options) as client,
        client.core_v1.config_maps("shop").watch(resource_version="1", raw=True) as events,
    ):
        return [each async for each in events]


ODD_LINES = {
    "no json": b"what?\n",
    "half a line of json": b'{"type":"ADDED","obj\n',
    "no object": b'{"type":"ADDED"}\n',
    "no type": b'{"object":{}}\n',
    "an array": b"[]\n",
    "another kind": event("ADDED", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}),
    "a type of the future": event("RENAMED", config_map("x")),
    "invalid metadata": event("MODIFIED", config_map("x") | {"metadata": []}),
    "bytes that are no text": b'{"type":"\xff"}\n',
    "a well without a bottom": b'{"type":"ADDED","object":' + b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES.keys())
async def test_an_undecodable_line_is_reported_and_the_next_is_fine(facade: str, line: bytes) -> None:
    first, second = await watched(streaming(line + event("ADDED", config_map("good", "7"))), facade)

    assert first.type == "BROKEN"
    assert isinstance(first.error, DecodeError)
    with pytest.raises(DecodeError):
        first.object  # noqa: B018 - reading is what raises
    assert (second.type, second.object.metadata.name) == ("ADDED", "good")


async def test_lines_may_arrive_in_any_chunks(facade: str) -> None:
    whole = event("ADDED", config_map("a", "2")) + b"\r\n\n" + event("DELETED", config_map("a", "3"))
    pieces = [whole[index : index + 7] for index in range(0, len(whole), 7)]

    assert [each.type for each in await watched(streaming(*pieces), facade)] == ["ADDED", "DELETED"]


async def test_a_truncated_event_is_not_delivered(facade: str) -> None:
    seen = await watched(streaming(event("ADDED", config_map("a")), event("ADDED", config_map("b"))[:-9]), facade)

    assert [each.object.metadata.name for each in seen] == ["a"]


async def test_an_endless_line_is_aborted_at_the_size_limit(facade: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(STREAM)
        piece = chunk(b"x" * 2**20)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()

    with pytest.raises(ProtocolError, match="a line of the stream has more than"):
        await watched(handle, facade)


@pytest.mark.parametrize(
    ("handler", "kind", "words"),
    [
        (once(http_response(LOGIN, HTML)), ProtocolError, "is an HTML page instead of JSON"),
        (once(b"rubbish\r\n\r\n"), ProtocolError, "not HTTP"),
        (streaming(event("ERROR", status(403, "Forbidden", "not you"))), ForbiddenError, "not you"),
        (streaming(event("ERROR", "oops")), StatusError, "oops"),
        (streaming(hold=True), DeadlineError, "sent nothing for 0.2 s"),
        (never, DeadlineError, "0.2 s"),
    ],
    ids=["a login page", "garbage", "an error", "an invalid error", "read_timeout", "no head"],
)
async def test_a_failed_watch_reports_the_reason(
    facade: str, handler: Handler, kind: type[MastheadError], words: str
) -> None:
    with pytest.raises(MastheadError) as caught:
        await watched(handler, facade, read_timeout=0.2, timeout=0.2)

    assert type(caught.value) is kind
    assert words in str(caught.value)
