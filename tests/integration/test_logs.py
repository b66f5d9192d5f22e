"""Logs, from a server that sends exactly the bytes of each test, on cue."""

from __future__ import annotations

import asyncio
import functools
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.integration.conftest import connected, eventually

from masthead.config import Config
from masthead.errors import (
    ArgumentError,
    BadRequestError,
    ClosedError,
    NameFormatError,
    NotFoundError,
    ProtocolError,
    SelectorError,
    ServiceUnavailableError,
    StatusError,
    TimeError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def refusal(code: int, reason: str, message: str) -> bytes:
    body = (
        f'{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}",'
        f'"reason":"{reason}","code":{code}}}'
    ).encode()
    head = f"HTTP/1.1 {code} No\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@dataclass
class Kubelet:
    """A fake API server with a node behind it.

    Attributes:
        pods: A client's pods.
        respond: Responds to one request of a log.
        pod: Responds to a request of the pod: it is gone, unless a test says otherwise.
        targets: The path and query of every request of a log.
    """

    pods: Any = None
    respond: Callable[[asyncio.StreamWriter], Awaitable[None]] | None = None
    pod: bytes = refusal(404, "NotFound", "no such pod")
    targets: list[str] = field(default_factory=list)

    def sends(self, *parts: bytes) -> None:
        """Respond with these bytes, and end the connection."""

        async def respond(writer: asyncio.StreamWriter) -> None:
            for part in parts:
                writer.write(part)
                await writer.drain()

        self.respond = respond

    @property
    def query(self) -> dict[str, str]:
        """The query parameters of the last request."""
        return dict(parse_qsl(urlsplit(self.targets[-1]).query))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target = (await reader.readuntil(b"\r\n\r\n")).decode().split(" ")[1]
            if not urlsplit(target).path.endswith("/log"):
                writer.write(self.pod)
                return
            self.targets.append(target)
            assert self.respond is not None
            await self.respond(writer)
        finally:
            writer.close()


@pytest.fixture
async def kubelet(facade: str) -> AsyncIterator[Kubelet]:
    made = Kubelet()
    async with serving(made) as url, connected(Config(server=url), facade, attempts=1) as client:
        made.pods = client.core_v1.pods("default")
        yield made


@asynccontextmanager
async def serving(kubelet: Kubelet) -> AsyncIterator[str]:
    server = await asyncio.start_server(kubelet.serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def lines_of(stream: Any) -> list[str]:
    return [line async for line in stream]


async def test_log_lines_are_yielded_as_written(kubelet: Kubelet) -> None:
    text = b'first\n\n    indented\ttab  \n\r\n{"json": true}\nno end'
    kubelet.sends(HEAD, *(chunk(bytes([each])) for each in text), END)

    assert await lines_of(kubelet.pods.logs("web")) == [
        "first",
        "",
        "    indented\ttab  ",
        "\r",
        '{"json": true}',
        "no end",
    ]
    assert kubelet.targets == ["/api/v1/namespaces/default/pods/web/log"]


async def test_a_log_can_be_read_at_once(kubelet: Kubelet) -> None:
    kubelet.sends(HEAD, chunk("größe\n".encode()[:3]), chunk("größe\n".encode()[3:]), chunk(b"\xff\n"), END)

    assert await kubelet.pods.logs("web").read() == "größe\n\ufffd\n"


async def test_log_bytes_can_be_read_as_they_arrive(kubelet: Kubelet) -> None:
    kubelet.sends(HEAD, chunk(b"\x00\xff"), chunk(b"\n\n"), END)

    assert b"".join([each async for each in kubelet.pods.logs("web").chunks()]) == b"\x00\xff\n\n"


async def test_an_empty_log_has_no_lines(kubelet: Kubelet) -> None:
    kubelet.sends(HEAD, END)

    assert await lines_of(kubelet.pods.logs("web")) == []
    assert await kubelet.pods.logs("web").read() == ""


async def test_options_go_to_the_server(kubelet: Kubelet) -> None:
    kubelet.sends(HEAD, END)
    since = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)

    await kubelet.pods.logs("web").read()
    assert kubelet.query == {}
    await kubelet.pods.logs("web", container="").read()
    assert kubelet.query == {}
    await kubelet.pods.logs("web", container="main", previous=True, tail_lines=0, timestamps=True).read()
    assert kubelet.query == {"container": "main", "previous": "true", "tailLines": "0", "timestamps": "true"}
    await kubelet.pods.logs("web", since=since, limit_bytes=1000).read()
    assert kubelet.query == {"sinceTime": "2001-02-03T04:05:06Z", "limitBytes": "1000"}
    # With timestamps, to resume from; and a limit would count them.
    await kubelet.pods.logs("web", follow=True, since=since, tail_lines=5, limit_bytes=1000).read()
    assert kubelet.query == {
        "follow": "true",
        "timestamps": "true",
        "sinceTime": "2001-02-03T04:05:06Z",
        "tailLines": "5",
    }
    await kubelet.pods.logs("web", since_seconds=60, insecure_skip_tls_verify_backend=True).read()
    assert kubelet.query == {"sinceSeconds": "60", "insecureSkipTLSVerifyBackend": "true"}


async def test_options_that_are_wrong_are_never_sent(kubelet: Kubelet) -> None:
    with pytest.raises(ArgumentError, match="since or since_seconds, not both"):
        kubelet.pods.logs("web", since=datetime(2001, 1, 1, tzinfo=UTC), since_seconds=1)
    with pytest.raises(ArgumentError, match="tail_lines"):
        kubelet.pods.logs("web", tail_lines=-1)
    for since in ("2020-01-01T00:00:00Z", date(2020, 1, 1), 1577836800, datetime(2020, 1, 1)):  # noqa: DTZ001
        for verb in (functools.partial(kubelet.pods.logs, "web"), kubelet.pods.merged_logs):
            with pytest.raises(TimeError, match="time zone"):
                verb(since=since)
    with pytest.raises(ArgumentError, match="follow or previous, not both"):
        kubelet.pods.logs("web", follow=True, previous=True)
    with pytest.raises(ArgumentError, match="max_streams"):
        kubelet.pods.merged_logs(max_streams=0)
    with pytest.raises(SelectorError):
        kubelet.pods.merged_logs(label_selector="app in web")
    with pytest.raises(NameFormatError):
        await kubelet.pods.logs("../nodes").read()
    assert kubelet.targets == []


async def test_a_log_is_followed_while_it_is_written(kubelet: Kubelet) -> None:
    read = asyncio.Event()

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"one\ntw"))
        await eventually(read)
        writer.write(chunk(b"o\n") + END)

    kubelet.respond = respond
    stream = kubelet.pods.logs("web", follow=True)

    assert await anext(stream) == "one"
    read.set()
    assert await lines_of(stream) == ["two"]


@pytest.mark.parametrize("leave", ["close", "with"])
async def test_leaving_a_log_early_releases_the_connection(kubelet: Kubelet, leave: str) -> None:
    left = asyncio.Event()

    async def respond(writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(HEAD)
            while True:  # until the client disconnects
                writer.write(chunk(b"again and again\n" * 1000))
                await writer.drain()
        except ConnectionError:
            left.set()

    kubelet.respond = respond
    stream = kubelet.pods.logs("web", follow=True)
    if leave == "close":
        assert await anext(stream) == "again and again"
        await stream.close()
        await stream.close()
    else:
        async with stream:
            async for line in stream:
                assert line == "again and again"
                break

    await eventually(left)


async def test_a_closed_log_stream_is_exhausted(kubelet: Kubelet) -> None:
    kubelet.sends(HEAD, chunk(b"one\n"), END)
    stream = kubelet.pods.logs("web")
    await stream.close()

    assert await lines_of(stream) == []
    with pytest.raises(ClosedError):
        await stream.read()
    assert kubelet.targets == []


async def test_a_log_is_read_once(kubelet: Kubelet) -> None:
    kubelet.sends(HEAD, chunk(b"one\n"), END)
    stream = kubelet.pods.logs("web")

    assert await stream.read() == "one\n"
    with pytest.raises(ClosedError):
        await stream.read()


async def test_closing_ends_a_wait_for_the_next_line(kubelet: Kubelet) -> None:
    left = asyncio.Event()

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"one\n"))
        await eventually(left)

    kubelet.respond = respond
    stream = kubelet.pods.logs("web", follow=True)
    assert await anext(stream) == "one"
    async with asyncio.TaskGroup() as tasks:
        rest = tasks.create_task(lines_of(stream))
        await stream.close()
    left.set()

    assert rest.result() == []


async def test_an_error_response_is_raised_on_the_first_read(kubelet: Kubelet) -> None:
    kubelet.sends(refusal(400, "BadRequest", "container main is waiting to start"))
    stream = kubelet.pods.logs("web")
    with pytest.raises(BadRequestError, match=r"get pods/log default/web: container main is waiting to start"):
        await anext(stream)

    kubelet.sends(refusal(404, "NotFound", "no such pod"))
    with pytest.raises(NotFoundError):
        await kubelet.pods.logs("web").read()

    kubelet.sends(b"HTTP/1.1 502 Bad\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nno node")
    with pytest.raises(StatusError, match="no node"):
        await kubelet.pods.logs("web").read()


async def test_a_broken_log_raises_after_its_last_line(kubelet: Kubelet) -> None:
    kubelet.sends(HEAD, chunk(b"one\ntwo\nthr"))
    stream = kubelet.pods.logs("web")

    assert [await anext(stream), await anext(stream)] == ["one", "two"]
    with pytest.raises(ProtocolError):
        await anext(stream)

    with pytest.raises(ProtocolError):
        await kubelet.pods.logs("web").read()


async def test_a_log_may_contain_a_status_or_an_html_page(kubelet: Kubelet) -> None:
    text = b'{"kind":"Status","status":"Failure","message":"quoted"}\n<html>\n'
    kubelet.sends(HEAD.replace(b"text/plain", b"text/html"), chunk(text), END)

    assert await kubelet.pods.logs("web").read() == text.decode()


async def test_a_missing_pod_has_no_log(client: Any, namespace: str) -> None:
    with pytest.raises(NotFoundError, match=r'get pods/log .*/absent: pods "absent" not found'):
        await client.core_v1.pods(namespace).logs("absent").read()


async def test_a_pod_without_a_node_has_an_empty_log(client: Any, namespace: str) -> None:
    pods = client.core_v1.pods(namespace)
    containers = [{"name": "app", "image": "image"}, {"name": "side", "image": "image"}]
    await pods.create({"metadata": {"name": "web"}, "spec": {"containers": containers}})

    assert await pods.logs("web").read() == ""
    assert await lines_of(pods.merged_logs()) == []
    with pytest.raises(BadRequestError, match="container none is not valid for pod web"):
        await pods.logs("web", container="none").read()


async def test_refusals_of_a_proxy_are_raised(client: Any, namespace: str) -> None:
    services = client.core_v1.services(namespace)
    spec = {"selector": {"app": "none"}, "ports": [{"name": "http", "port": 80}]}
    await services.create({"metadata": {"name": "empty"}, "spec": spec})

    with pytest.raises(NotFoundError, match=r'get pods/proxy .*/absent:80: pods "absent" not found'):
        await client.core_v1.pods(namespace).proxy("absent:80").get("/healthz")
    # Without a controller that makes endpoints, as beside the real server, these are not found.
    with pytest.raises((NotFoundError, ServiceUnavailableError), match=r"no endpoints available|not found"):
        await services.proxy("empty:http").post("/", b"{}")
    with pytest.raises(NotFoundError, match="nodes"):
        await client.core_v1.nodes().proxy("absent").get("/metrics")
