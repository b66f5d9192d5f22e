"""Proxies of pods, services and nodes: the same requests to a real server and to the embedded one, with one target."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast
from urllib.error import HTTPError

import pytest
from tests.server.calls import Caller

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

NAMESPACE = "/api/v1/namespaces/default"
CASES = [
    ("GET", "pods/web/proxy"),
    ("HEAD", "pods/web/proxy?a=b"),
    ("POST", "pods/web/proxy"),
    ("GET", "pods/web/proxy/"),
    ("GET", "pods/web/proxy/a/b?x=1&y=a%20b"),
    ("GET", "pods/web/proxy/a/b/"),
    ("PUT", "pods/web/proxy/put"),
    ("PATCH", "pods/web/proxy/patch"),
    ("DELETE", "pods/web/proxy/delete"),
    ("OPTIONS", "pods/web/proxy/options"),
    ("TRACE", "pods/web/proxy/trace"),
    ("GET", "pods/http:web:{port}/proxy/x"),
    ("GET", "pods/ftp:web:80/proxy/"),
    ("GET", "pods/web:1/proxy/"),
    ("GET", "pods/nosuch/proxy/"),
    ("GET", "pods/new/proxy/"),
    ("GET", "pods/a:b:c:d/proxy/"),
    ("GET", "pods/web/proxy/redirect-root"),
    ("GET", "pods/web/proxy/redirect-absolute"),
    ("GET", "pods/web/proxy/redirect-relative"),
    ("GET", "pods/web/proxy/redirect-elsewhere"),
    ("GET", "pods/web/proxy/hang-up"),
    ("GET", "pods/web/proxy/teapot"),
    ("GET", "pods/web/proxy/empty"),
    ("GET", "services/shop/proxy/"),
    ("GET", "services/shop:http/proxy/a"),
    ("GET", "services/shop:80/proxy/a"),
    ("GET", "services/shop:81/proxy/"),
    ("GET", "services/shop:9/proxy/"),
    ("GET", "services/shop:other/proxy/"),
    ("GET", "services/nosuch/proxy/"),
    ("GET", "services/a:b:c:d/proxy/"),
]


class Target(BaseHTTPRequestHandler):
    """Responds with the request, or as its path says."""

    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline()
        if self.raw_requestline and self.parse_request():
            self._respond(self.path.partition("?")[0].rpartition("/")[2])
        self.close_connection = True

    def _respond(self, what: str) -> None:
        host, port = cast("tuple[str, int]", self.server.server_address)
        redirects = {
            "redirect-root": "/there/",
            "redirect-absolute": f"http://{host}:{port}/there/?q=1",
            "redirect-relative": "there?x=1",
            "redirect-elsewhere": "http://example.com/there",
        }
        if what == "hang-up":
            return
        if what in redirects:
            self._send(302, b"", Location=redirects[what])
        elif what in {"teapot", "empty"}:
            self._send(418 if what == "teapot" else 204, b"short and stout" if what == "teapot" else b"")
        else:
            kept = {"x-mine", "x-forwarded-for", "x-forwarded-uri", "authorization", "x-gone"}
            headers = {name: value for name, value in self.headers.items() if name.lower() in kept}
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            self._send(200, json.dumps([self.command, self.path, headers, body]).encode())

    def _send(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        if code != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the standard library's
        pass


def own_address() -> str:
    """An address of this machine that kube-apiserver connects to; not a loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with suppress(OSError):
            probe.connect(("198.51.100.1", 9))  # which sends nothing
        found = str(probe.getsockname()[0])
    if found.startswith(("127.", "0.")):
        pytest.skip("this machine has no address besides loopback")
    return found


@pytest.fixture(scope="module")
def target() -> Iterator[tuple[str, int]]:
    with ThreadingHTTPServer((own_address(), 0), Target) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield str(server.server_address[0]), server.server_address[1]
        server.shutdown()
        thread.join()


@dataclass(frozen=True)
class Outcome:
    """What a client gets, as far as the servers should agree."""

    code: int
    location: str | None
    body: Any


def ask(connection: http.client.HTTPConnection, token: str | None, method: str, path: str) -> Outcome:
    headers = {"X-Mine": "1", "Connection": "X-Gone", "X-Gone": "1", "Authorization": f"Bearer {token}"}
    body = b"body" if method in {"POST", "PUT", "PATCH"} else None
    try:
        connection.request(method, f"{NAMESPACE}/{path}", body, headers)
        response = connection.getresponse()
        found = response.read()
        return Outcome(response.status, response.headers["Location"], plain(found))
    finally:
        connection.close()


def plain(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body


def prepare(call: Callable[[str, str, object], object], address: str, port: int) -> None:
    """Create the pod, the service, and what kube-controller-manager would create."""
    with suppress(HTTPError):  # on the real server, nobody else does
        call("POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
    container = {"name": "main", "image": "web", "ports": [{"containerPort": port}]}
    spec = {"nodeName": "node", "automountServiceAccountToken": False, "containers": [container]}
    for name in ("web", "new"):
        call("POST", f"{NAMESPACE}/pods", {"metadata": {"name": name}, "spec": spec})
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    call("PUT", f"{NAMESPACE}/pods/web/status", {"metadata": {"name": "web"}, "spec": spec, "status": status})
    ports = [{"name": "http", "port": 80}, {"name": "other", "port": 81}]
    call("POST", f"{NAMESPACE}/services", {"metadata": {"name": "shop"}, "spec": {"ports": ports}})
    pod = {"kind": "Pod", "name": "web", "namespace": "default"}
    addresses = [{"ip": address, "targetRef": pod}]
    subset = {"addresses": addresses, "ports": [{"name": "http", "port": port}]}
    call("POST", f"{NAMESPACE}/endpoints", {"metadata": {"name": "shop"}, "subsets": [subset]})


@pytest.fixture(scope="module")
def real(real_server: RealServer, target: tuple[str, int]) -> Callable[[str, str], Outcome]:
    prepare(real_server.call, *target)
    trust = ssl.create_default_context(cafile=str(real_server.ca_file))
    host = real_server.url.removeprefix("https://")
    return lambda method, path: ask(http.client.HTTPSConnection(host, context=trust), real_server.token, method, path)


@pytest.fixture(scope="module")
def embedded(target: tuple[str, int]) -> Iterator[Callable[[str, str], Outcome]]:
    with masthead.server.run() as server:
        caller = Caller(server.url, server.token)
        prepare(caller.call, *target)
        caller.close()
        server.kubelet.listen("web", target[1], target, allow_remote=True)
        host = server.url.removeprefix("http://")
        yield lambda method, path: ask(http.client.HTTPConnection(host), server.token, method, path)


@pytest.mark.parametrize(("method", "path"), CASES)
def test_both_servers_agree(
    real: Callable[[str, str], Outcome],
    embedded: Callable[[str, str], Outcome],
    target: tuple[str, int],
    method: str,
    path: str,
) -> None:
    asked = path.format(port=target[1])
    assert embedded(method, asked) == real(method, asked)
