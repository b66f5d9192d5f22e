"""``proxy`` of pods, services and nodes. The expected messages are those of kube-apiserver 1.36."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.server.calls import PODS
from tests.server.kubelet.wires import POD, Upgraded, lines_of, start_pod

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterator

    from tests.server.calls import Caller

    from masthead.server import Server

SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


@pytest.fixture(autouse=True)
def _pod(server: Server, caller: Caller) -> None:
    start_pod(server, caller, app="web")


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond with the request: its head, and a body of known length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((line[16:] for line in lines_of(head) if line.startswith("Content-Length: ")), "0")
    body = head + await reader.readexactly(int(length))
    shown = b"" if head.startswith(b"HEAD") else body
    writer.write(b"HTTP/1.1 200 OK\r\nX-Own: 1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), shown))


def saying(response: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """What responds to anything with the same bytes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)

    return serve


def test_a_request_reaches_what_listens(server: Server, caller: Caller) -> None:
    listener = server.kubelet.listen("web", 8080, echo)
    response = caller.call("GET", f"{POD}/proxy/a/b?x=1&y=a%20b", headers={"X-Mine": "2"})
    assert response.code == 200
    assert response.headers["x-own"] == "1"
    assert response.body.decode().splitlines()[:-1] == [
        "GET /a/b?x=1&y=a%20b HTTP/1.1",
        f"Host: {caller.host}:{caller.port}",
        "X-Mine: 2",
        "X-Forwarded-For: 127.0.0.1",
        f"X-Forwarded-Uri: {POD}/proxy/a/b",
        "Connection: close",
    ]
    assert listener.connections == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_every_method_is_relayed_with_its_body(server: Server, caller: Caller, method: str) -> None:
    server.kubelet.listen("web", 8080, echo)
    body = None if method == "HEAD" else b"x" * 100_000
    response = caller.call(method, f"{POD}:8080/proxy/m", body)
    assert response.code == 200
    if method != "HEAD":
        assert response.body.startswith(f"{method} /m HTTP/1.1\r\n".encode())
        assert response.body.endswith(b"\r\n\r\n" + b"x" * 100_000)


def test_another_method_is_not_allowed(caller: Caller) -> None:
    assert caller.call("TRACE", f"{POD}/proxy/").code == 405


def test_a_path_that_ends_with_proxy_is_redirected_to_the_root(server: Server, caller: Caller) -> None:
    server.kubelet.listen("web", 8080, echo)
    for method in ("GET", "HEAD"):
        response = caller.call(method, f"{POD}/proxy?a=b")
        assert (response.code, response.headers["location"]) == (301, f"{POD}/proxy/?a=b")
    assert caller.call("POST", f"{POD}/proxy", b"").body.startswith(b"POST / HTTP/1.1\r\n")


def test_both_bodies_are_relayed_as_they_come(server: Server, caller: Caller) -> None:
    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (size := int(await reader.readline(), 16)) or not writer.is_closing():
            piece = await reader.readexactly(size + 2)
            writer.write(b"%x\r\n%s" % (size, piece))
            if not size:
                return

    server.kubelet.listen("web", 8080, repeat)
    with caller.socket() as client, client.makefile("rb") as received:
        head = f"POST {POD}/proxy/ HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
        client.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for word in (b"one", b"three"):
            client.sendall(b"%x\r\n%s\r\n" % (len(word), word))
            if word == b"one":
                assert b" 200 " in received.readline()
                while received.readline() != b"\r\n":
                    pass
            assert received.readline() == b"%x\r\n" % len(word)
            assert received.readline() == word + b"\r\n"
        client.sendall(b"0\r\n\r\n")
        assert received.readline() == b"0\r\n"


@pytest.mark.parametrize(
    ("response", "code", "body"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nold", 200, b"old"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (b"HTTP/1.1 418 Teapot\r\nContent-Length: 3\r\n\r\nabc", 418, b"abc"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b!",
            200,
            b"\x1f\x8b!",
        ),
    ],
)
def test_responses_are_passed_on_as_they_are(
    server: Server, caller: Caller, response: bytes, code: int, body: bytes
) -> None:
    server.kubelet.listen("web", 8080, saying(response))
    found = caller.call("GET", f"{POD}/proxy/")
    assert (found.code, found.body) == (code, body)


def test_a_redirect_leads_through_the_proxy(server: Server, caller: Caller) -> None:
    server.kubelet.listen("web", 8080, saying(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"))
    assert caller.call("GET", f"{POD}/proxy/here").headers["location"] == f"{POD}/proxy/there"


def test_a_body_that_breaks_off_is_not_taken_for_a_whole_one(server: Server, caller: Caller) -> None:
    server.kubelet.listen("web", 8080, saying(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"))
    with pytest.raises(http.client.IncompleteRead):
        caller.call("GET", f"{POD}/proxy/")


def test_what_does_not_speak_http_is_not_reached(server: Server, caller: Caller) -> None:
    unreachable = "error trying to reach service: "
    server.kubelet.listen("web", 8080, saying(b""))
    failure = (503, "ServiceUnavailable", f"{unreachable}EOF")
    assert caller.call("GET", f"{POD}/proxy/").failure == failure
    server.kubelet.listen("web", 8080, saying(b"garbage\r\n\r\n"))
    code, _, message = caller.call("GET", f"{POD}/proxy/").failure
    assert code == 503
    assert message.startswith(f"{unreachable}net/http: HTTP/1.x transport connection broken")


def test_a_function_that_fails_is_logged_and_harms_nobody(
    server: Server, caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        raise LookupError("nothing there")

    server.kubelet.listen("web", 8080, fail)
    assert caller.call("GET", f"{POD}/proxy/").failure[2] == "error trying to reach service: EOF"
    assert "nothing there" in caplog.text
    server.kubelet.listen("web", 8080, echo)
    assert caller.call("GET", f"{POD}/proxy/").code == 200


def test_a_closed_listener_and_a_pod_that_has_ended_refuse(server: Server, caller: Caller) -> None:
    listener = server.kubelet.listen("web", 8080, echo)
    address = caller.call("GET", POD).json["status"]["podIP"]
    message = f"error trying to reach service: dial tcp {address}:8080: connect: connection refused"
    refused = (503, "ServiceUnavailable", message)
    server.kubelet.succeed("web")
    assert caller.call("GET", f"{POD}/proxy/").failure == refused
    start_pod(server, caller, "other")
    listener.close()
    listener.close()
    assert "connection refused" in caller.call("GET", f"{PODS}/other/proxy/").failure[2]


def test_the_listener_that_says_most_about_the_pod_is_chosen(server: Server, caller: Caller) -> None:
    def named(name: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        return saying(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(name), name))

    server.kubelet.listen("default/web", 8080, named(b"exactly"))
    server.kubelet.listen("web", 8080, named(b"web"))
    server.kubelet.listen("*", 8080, named(b"any"))
    server.kubelet.listen("default/web", 81, named(b"other port"))
    assert caller.call("GET", f"{POD}/proxy/").body == b"exactly"
    assert caller.call("GET", f"{POD}:81/proxy/").body == b"other port"


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        (f"{PODS}/nosuch/proxy/", 404, 'pods "nosuch" not found'),
        (f"{PODS}/a:b:c:d/proxy/", 400, 'invalid pod request "a:b:c:d"'),
        (f"{PODS}/ftp:web:80/proxy/", 400, 'invalid pod request "ftp:web:80"'),
        (f"{SERVICES}/nosuch/proxy/", 404, 'services "nosuch" not found'),
        (f"{SERVICES}/nosuch:80/proxy/", 404, 'services "nosuch" not found'),
        (f"{SERVICES}/a:b:c:d/proxy/", 400, 'invalid service request "a:b:c:d"'),
        ("/api/v1/nodes/nosuch/proxy/", 404, 'nodes "nosuch" not found'),
        ("/api/v1/nodes/a:b:c:d/proxy/", 400, 'invalid node request "a:b:c:d"'),
    ],
)
def test_what_does_not_exist_is_not_found(caller: Caller, path: str, code: int, message: str) -> None:
    response = caller.call("GET", path)
    assert (response.code, response.json["message"]) == (code, message)


def test_a_pod_without_an_address_is_not_allowed(caller: Caller) -> None:
    spec = {"containers": [{"name": "main", "image": "web"}]}
    caller.call("POST", PODS, {"metadata": {"name": "new"}, "spec": spec})
    assert caller.call("GET", f"{PODS}/new/proxy/").failure == (400, "BadRequest", "address not allowed")


@pytest.fixture
def service(server: Server, caller: Caller) -> None:
    server.kubelet.listen("web", 8080, echo)
    ports = [{"name": "http", "port": 80, "targetPort": "http"}, {"name": "other", "port": 81}]
    spec = {"selector": {"app": "web"}, "ports": ports}
    assert caller.call("POST", SERVICES, {"metadata": {"name": "shop"}, "spec": spec}).code == 201


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("name", ["shop:80", "shop:http", "http:shop:http"])
def test_a_service_leads_to_a_ready_pod(caller: Caller, name: str) -> None:
    response = caller.call("GET", f"{SERVICES}/{name}/proxy/x")
    assert response.body.startswith(b"GET /x HTTP/1.1\r\n")
    assert f"X-Forwarded-Uri: {SERVICES}/{name}/proxy/x\r\n".encode() in response.body


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shop", 'no endpoints available for service "shop"'),
        ("shop:nosuch", 'no endpoints available for service "shop:nosuch"'),
        ("shop:9", 'no service port 9 found for service "shop"'),
    ],
)
def test_a_port_that_a_service_has_not_leads_nowhere(caller: Caller, name: str, message: str) -> None:
    assert caller.call("GET", f"{SERVICES}/{name}/proxy/").failure == (503, "ServiceUnavailable", message)


@pytest.mark.usefixtures("service")
def test_a_service_without_ready_pods_leads_nowhere(server: Server, caller: Caller) -> None:
    server.kubelet.fail("web")
    failure = (503, "ServiceUnavailable", 'no endpoints available for service "shop:80"')
    assert caller.call("GET", f"{SERVICES}/shop:80/proxy/").failure == failure


@pytest.mark.parametrize("kind", ["Endpoints", "EndpointSlice"])
def test_endpoints_decide_where_there_are_any(server: Server, caller: Caller, kind: str) -> None:
    server.kubelet.listen("web", 9000, echo)
    caller.call("POST", SERVICES, {"metadata": {"name": "shop"}, "spec": {"ports": [{"port": 80}]}})
    pod = {"kind": "Pod", "name": "web", "namespace": "default"}
    if kind == "Endpoints":
        subset = {"addresses": [{"ip": "10.0.0.1", "targetRef": pod}], "ports": [{"port": 9000}]}
        body = {"metadata": {"name": "shop"}, "subsets": [subset]}
        created = caller.call("POST", "/api/v1/namespaces/default/endpoints", body)
    else:
        meta = {"name": "shop-1", "labels": {"kubernetes.io/service-name": "shop"}}
        endpoint = {"addresses": ["10.0.0.1"], "targetRef": pod}
        found = {"metadata": meta, "addressType": "IPv4", "ports": [{"port": 9000}], "endpoints": [endpoint]}
        created = caller.call("POST", SLICES, found)
    assert created.code == 201, created.body
    assert caller.call("GET", f"{SERVICES}/shop/proxy/x").body.startswith(b"GET /x ")


def test_a_node_has_ports_too(server: Server, caller: Caller) -> None:
    node = caller.call("GET", POD).json["spec"]["nodeName"]
    refused = caller.call("GET", f"/api/v1/nodes/{node}/proxy/healthz")
    assert refused.failure[2].endswith(":10250: connect: connection refused")
    server.kubelet.listen_on_node(node, echo)
    server.kubelet.listen_on_node(node, echo, port=9100)
    for name in (node, f"{node}:9100"):
        assert caller.call("GET", f"/api/v1/nodes/{name}/proxy/healthz").body.startswith(b"GET /healthz ")


@contextmanager
def local_port(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port of this machine that serves one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            client, _ = listening.accept()
            with client:
                serve(client)

        thread = threading.Thread(target=accept)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_a_port_of_this_machine_can_listen(server: Server, caller: Caller) -> None:
    def serve(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    for target in (lambda port: port, lambda port: ("localhost", port)):
        with local_port(serve) as port:
            server.kubelet.listen("web", 8080, target(port))
            assert caller.call("GET", f"{POD}/proxy/").body == b"hi"
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    server.kubelet.listen("web", 8080, port)
    assert "connection refused" in caller.call("GET", f"{POD}/proxy/").failure[2]


def test_an_upgrade_goes_through(server: Server, caller: Caller) -> None:
    async def switch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert b"Upgrade: echo\r\n" in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello ")
        while piece := await reader.read(65536):
            writer.write(piece)

    server.kubelet.listen("web", 8080, switch)
    headers = {"Connection": "Upgrade", "Upgrade": "echo"}
    with Upgraded(caller, server.token, f"{POD}/proxy/", headers) as connection:
        assert "Upgrade: echo" in lines_of(connection.head)
        connection.socket.sendall(b"world")
        assert connection.read(11) == b"hello world"


def test_a_refused_upgrade_is_passed_on(server: Server, caller: Caller) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "echo"}
    server.kubelet.listen("web", 8080, saying(b"HTTP/1.1 403 No\r\nContent-Length: 3\r\n\r\nno!"))
    refused = caller.call("GET", f"{POD}/proxy/", headers=headers)
    assert (refused.code, refused.body) == (403, b"no!")
    server.kubelet.listen("web", 8080, saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    message = "invalid upgrade response: status code 200"
    assert caller.call("GET", f"{POD}/proxy/", headers=headers).failure == (500, "", message)
    server.kubelet.listen("web", 8080, saying(b""))
    assert caller.call("GET", f"{POD}/proxy/", headers=headers).failure == (500, "", "unexpected EOF")


@pytest.mark.parametrize(
    ("port", "target", "problem"),
    [
        (0, 80, "a port is a number from 1 to 65535, not 0"),
        (80, 65536, "a port is a number from 1 to 65535, not 65536"),
        (80, ("example.com", 80), "allow_remote=True"),
    ],
)
def test_what_cannot_listen_is_refused(server: Server, port: int, target: int | tuple[str, int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        server.kubelet.listen("web", port, target)


def test_another_machine_is_allowed_on_request(server: Server) -> None:
    assert "web:80" in repr(server.kubelet.listen("web", 80, ("example.com", 80), allow_remote=True))
    with pytest.raises(TypeError, match="a function listens"):
        server.kubelet.listen("web", 80, "example.com:80")  # type: ignore[arg-type]
