"""HTTP requests to what runs in pods, behind services and on nodes, through both façades."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected

import masthead.server
from masthead._meta.secret import Secret
from masthead.config import from_kubeconfig
from masthead.errors import (
    ArgumentError,
    ClosedError,
    DeadlineError,
    DecodeError,
    NameFormatError,
    NotFoundError,
    ProtocolError,
    ProxyResponseError,
    ServiceUnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.server import Server

STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "mine", "code": 418}


async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A backend, which says what it was asked."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    method, target, _ = head.split(" ", 2)
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    length = int({name.lower(): value for name, value in headers.items()}.get("content-length", 0))
    sent = (await reader.readexactly(length)).decode()
    known = {name.lower(): value for name, value in headers.items()}
    said = {"method": method, "target": target, "body": sent, "headers": known}
    status, body, kind = "200 OK", json.dumps(said).encode(), "application/json"
    if target.startswith("/status/"):
        status = f"{target.removeprefix('/status/')} Says So"
    elif target == "/status-object":
        status, body = "500 Oh", json.dumps(STATUS).encode()
    elif target == "/like-a-status":
        status, body = "500 Oh", json.dumps(STATUS | {"apiVersion": "v2"}).encode()
    elif target == "/long-error":
        status, body = "500 Oh", b'"' + b"x" * 300_000 + b'"'
    elif target == "/text":
        body, kind = b"not json", "text/plain"
    elif target == "/cut":
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
        return
    elif target == "/silent":
        await asyncio.sleep(3600)
    elif target == "/big":
        await send_big(writer)
        return
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nX-Own: yes\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + (b"" if method == "HEAD" else body))
    await writer.drain()


async def send_big(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50000000\r\nConnection: close\r\n\r\n")
    for _ in range(50):
        writer.write(b"x" * 1_000_000)
        await writer.drain()


@pytest.fixture(scope="module")
def server() -> Any:
    with masthead.server.run(bootstrap=False) as made:
        with masthead.Client(from_kubeconfig(made.kubeconfig())) as client:
            containers = [{"name": "app", "image": "image"}]
            pod = {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"containers": containers}}
            client.core_v1.pods("default").create(pod)
            made.kubelet.start("web")
            ports = [{"name": "http", "port": 80, "targetPort": 8080}]
            spec = {"selector": {"app": "web"}, "ports": ports}
            client.core_v1.services("default").create({"metadata": {"name": "front"}, "spec": spec})
            spec = {"selector": {"app": "none"}, "ports": ports}
            client.core_v1.services("default").create({"metadata": {"name": "empty"}, "spec": spec})
        made.kubelet.listen("web", 8080, respond)
        yield made


@pytest.fixture
async def client(server: Server, facade: str) -> AsyncIterator[Any]:
    async with connected(from_kubeconfig(server.kubeconfig()), facade, attempts=1) as made:
        yield made


@pytest.fixture
def web(client: Any) -> Any:
    return client.core_v1.pods("default").proxy("web:8080")


async def test_a_request_reaches_the_pod(web: Any) -> None:
    response = await web.get("/a b?x=1", query={"y": "ü"}, headers={"X-Mine": "here"})

    assert (response.status, response.is_success, response.content_type) == (200, True, "application/json")
    said = response.json()
    assert (said["method"], said["target"]) == ("GET", "/a%20b?x=1&y=%C3%BC")
    assert said["headers"]["x-mine"] == "here"
    assert "authorization" not in said["headers"]
    assert (response.header("x-own"), response.header("absent")) == ("yes", "")
    assert json.loads(response.text) == said
    assert repr(response) == f"<ProxyResponse 200 to get pods/proxy default/web:8080, {len(response.body)} bytes>"


@pytest.mark.parametrize("method", ["post", "put", "patch"])
async def test_bodies_are_sent(web: Any, method: str) -> None:
    for data in (b"data", bytearray(b"data"), memoryview(b"data")):
        said = (await getattr(web, method)("/", data, content_type="text/csv")).json()

        assert (said["method"], said["body"]) == (method.upper(), "data")
        assert said["headers"]["content-type"] == "text/csv"


async def test_other_methods_are_sent(web: Any) -> None:
    assert (await web.delete("/x")).json()["method"] == "DELETE"
    assert (await web.request("options", "/x", body=b"1")).json()["method"] == "OPTIONS"
    head = await web.head("/x")
    assert (head.status, head.body, head.header("X-Own")) == (200, b"", "yes")


@pytest.mark.parametrize("status", [301, 400, 401, 404, 409, 429, 500, 503])
async def test_a_status_of_the_backend_is_a_response(web: Any, status: int) -> None:
    for response in (await web.get(f"/status/{status}"), await web.post(f"/status/{status}", b"")):
        assert response.status == status
        assert not response.is_success
        if status < 400:
            response.raise_for_status()
            continue
        with pytest.raises(
            ProxyResponseError, match=rf"the backend answered /status/{status} with status {status}: "
        ) as e:
            response.raise_for_status()
        assert (e.value.status, e.value.body) == (status, response.body)


async def test_long_and_similar_error_bodies_are_the_backends(web: Any) -> None:
    response = await web.get("/long-error")
    assert (response.status, len(response.body)) == (500, 300_002)
    assert (await web.get("/like-a-status")).json()["message"] == "mine"
    async with web.stream("GET", "/long-error") as stream:
        assert stream.status == 500
        assert sum([len(chunk) async for chunk in stream.chunks()]) == 300_002


async def test_what_the_api_server_refuses_is_raised(client: Any) -> None:
    pods, services = client.core_v1.pods("default"), client.core_v1.services("default")
    with pytest.raises(NotFoundError, match=r'get pods/proxy default/absent:80: pods "absent" not found'):
        await pods.proxy("absent:80").get("/")
    with pytest.raises(ServiceUnavailableError, match="connection refused"):
        await pods.proxy("web:81").get("/")
    with pytest.raises(ServiceUnavailableError, match="no endpoints available"):
        await services.proxy("empty:http").get("/")
    with pytest.raises(NotFoundError):
        async with client.core_v1.nodes().proxy("absent").stream("GET", "/metrics"):
            pass


async def test_a_status_object_is_taken_for_the_api_servers(web: Any) -> None:
    with pytest.raises(masthead.errors.StatusError, match="mine"):
        await web.get("/status-object")


async def test_services_lead_to_pods(client: Any) -> None:
    for name in ("front:80", "front:http", "http:front:80"):
        assert (await client.core_v1.services("default").proxy(name).get("/x")).json()["target"] == "/x"


async def test_untyped_resources_have_proxies_too(client: Any) -> None:
    pods = client.dynamic("pods", namespace="default")

    assert (await pods.proxy("web:8080").get("/x")).json()["target"] == "/x"


async def test_bad_names_and_paths_are_never_sent(client: Any, web: Any, server: Server) -> None:
    before = len(server.requests)
    with pytest.raises(NameFormatError, match="scheme:name:port"):
        client.core_v1.pods("default").proxy("ftp:web:80:1")
    with pytest.raises(NameFormatError):
        await client.core_v1.pods("default").proxy("../web").get("/")
    with pytest.raises(ArgumentError, match="Nothing was sent"):
        await web.get("/../../../nodes")
    with pytest.raises(ArgumentError):
        await web.get("/", headers={"X-Bad": "a\r\nb: c"})
    assert len(server.requests) == before


@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
async def test_the_credential_of_a_backend_is_not_sent_to_the_api_server(web: Any, server: Server, name: str) -> None:
    before = len(server.requests)
    with pytest.raises(ArgumentError, match=r"take it for the client's own credential.* port_forward") as e:
        await web.get("/", headers={name: Secret("Basic pw")})
    with pytest.raises(ArgumentError, match="Authorization"):
        async with web.stream("GET", headers={name: "Basic pw"}):
            pass
    assert "pw" not in repr((e.value, vars(e.value)))
    assert len(server.requests) == before
    assert (await web.get("/", headers={"X-Api-Key": Secret("k")})).json()["headers"]["x-api-key"] == "k"


@pytest.mark.parametrize(
    ("request_of", "problem"),
    [
        (lambda web: web.post("/", "text"), "body is of type str; it must be bytes"),
        (lambda web: web.put("/", {"a": 1}), "body is of type dict"),
        (lambda web: web.get("/", query=[("a", "b")]), "query is of type list; it must be a mapping"),
        (lambda web: web.get("/", query="a=b"), "query is of type str"),
        (lambda web: web.get("/", headers=[("a", "b")]), "headers is of type list; it must be a mapping"),
        (lambda web: web.get("/", headers={"a": 3}), "the header 'a' is of type int"),
        (lambda web: web.get("/", headers={3: "a"}), "the name of a header is of type int"),
        (lambda web: web.get(b"/"), "path is of type bytes"),
        (lambda web: web.request(None), "method is of type NoneType"),
        (lambda web: web.post("/", b"", content_type=None), "content_type is of type NoneType"),
    ],
)
async def test_requests_of_other_types_are_never_sent(web: Any, server: Server, request_of: Any, problem: str) -> None:
    before = len(server.requests)
    with pytest.raises(ArgumentError, match=problem):
        await request_of(web)
    assert len(server.requests) == before


async def test_broken_responses_are_errors(web: Any) -> None:
    with pytest.raises(ProtocolError, match="get pods/proxy default/web:8080"):
        await web.get("/cut")
    with pytest.raises(DecodeError, match="the response to get pods/proxy default/web:8080 is not JSON"):
        (await web.get("/text")).json()
    with pytest.raises(DeadlineError):
        await web.get("/silent", timeout=0.3)


async def test_a_long_response_is_read_as_it_arrives(web: Any) -> None:
    async with web.stream("GET", "/big") as response:
        response.raise_for_status()
        assert (response.status, response.header("content-length")) == (200, "50000000")
        longest = total = 0
        async for chunk in response.chunks():
            longest = max(longest, len(chunk))
            total += len(chunk)

    assert total == 50_000_000
    assert longest < 4_000_000


async def test_a_stream_is_open_within_its_block(web: Any) -> None:
    stream = web.stream("GET", "/big")
    with pytest.raises(ClosedError, match="not been sent"):
        _ = stream.status
    async with stream:
        async for _chunk in stream.chunks():
            break
    with pytest.raises(ClosedError):
        await stream.open()
    async with web.stream("GET", "/status/404") as missing:
        with pytest.raises(ProxyResponseError, match="with status 404"):
            missing.raise_for_status()
