"""Any request gets an HTTP response with a Status, nothing breaks, and nothing is lost."""

from __future__ import annotations

import logging
import random
import re
import socket
import urllib.parse
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.calls import JSON, JSON_PATCH, KNOWN_500, MERGE_PATCH, Caller, CallResponse, config_map
from tests.server.endpoints import Endpoint, endpoints_of
from tests.server.odd_objects import OddObjects
from tests.server.random_requests import (
    TOKEN,
    Repeated,
    bodies,
    credentials,
    headers,
    media_types,
    methods,
    odd_values,
    parameters,
    queries,
    sent,
    steps,
)

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.apitype import ApiType
    from masthead.server import Server

KEPT = "/api/v1/namespaces/kept/configmaps/kept"
TEXT_PAGES = ("404 page not found\n", "400 Bad Request")


class Complaints(logging.Handler):
    """Records unexpected log lines."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # That a kind has no effect is no complaint.
        if record.name == "masthead.server":
            return
        self.found.append(self.format(record))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(token=TOKEN, seed=1) as server:
        caller = Caller(server.url, TOKEN)
        for name in ("fuzz", "kept"):
            assert caller.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}}).code == 201
        caller.close()
        yield server


@pytest.fixture(scope="module")
def caller(server: Server) -> Iterator[Caller]:
    caller = Caller(server.url, TOKEN)
    yield caller
    caller.close()


@pytest.fixture(scope="module")
def endpoints(caller: Caller) -> list[Endpoint]:
    return endpoints_of(caller)


@pytest.fixture(autouse=True)
def _all_is_well_afterwards(server: Server, caller: Caller) -> Iterator[None]:
    """After each test the server responds, earlier writes are still there, and nothing was logged."""
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    body = config_map("kept", data={"before": "now"})
    caller.call("DELETE", KEPT)
    kept = caller.call("POST", KEPT.removesuffix("/kept"), body).json
    yield
    logging.getLogger().removeHandler(complaints)
    server.block_until_idle()
    assert caller.call("GET", "/healthz").body == b"ok"
    assert caller.call("GET", KEPT).json == kept
    assert complaints.found == []


def check(response: CallResponse, *, method: str = "GET") -> None:
    """Make sure that a response is one that a client can understand."""
    if method == "HEAD" or response.code in {200, 201, 202, 304} or response.body in {*map(str.encode, TEXT_PAGES)}:
        return
    assert response.content_type in {JSON, "application/yaml"}, (response.code, response.body[:300])
    status = yaml.safe_load(response.body) if response.content_type == "application/yaml" else response.json
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
    assert status["code"] == response.code
    if response.code == 500:
        assert KNOWN_500.match(status["message"]), status["message"]
    assert response.code in {*range(400, 500), 500, 501, 504}, status


# Random requests.


@settings(max_examples=250, deadline=None)
@given(method=methods, path=st.lists(steps, max_size=7), query=queries, given_headers=headers, body=bodies)
def test_any_path_gets_a_response(
    caller: Caller,
    method: str,
    path: list[str],
    query: str,
    given_headers: dict[str, str],
    body: bytes | Repeated | None,
) -> None:
    target = "/" + "/".join(path) + (f"?{query}" if query else "")
    check(caller.call(method, target, sent(body), headers=given_headers), method=method)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(
    choice=st.integers(0, 10_000),
    method=methods,
    namespace=st.sampled_from(["fuzz", "fuzz", "missing", "", "..", "%2F"]),
    name=st.sampled_from(["", "", "a"]) | steps,
    query=queries,
    given_headers=headers,
    body=bodies,
)
def test_any_endpoint_responds_to_any_request(  # noqa: PLR0917 - pytest and hypothesis give them by name
    caller: Caller,
    endpoints: list[Endpoint],
    choice: int,
    method: str,
    namespace: str,
    name: str,
    query: str,
    given_headers: dict[str, str],
    body: bytes | Repeated | None,
) -> None:
    path = endpoints[choice % len(endpoints)].path(namespace, name)
    check(caller.call(method, f"{path}?{query}", sent(body), headers=given_headers), method=method)


MAPS = "/api/v1/namespaces/fuzz/configmaps"
PLAIN_REQUESTS = (
    ("GET", MAPS, None, JSON),
    ("GET", f"{MAPS}/a", None, JSON),
    ("GET", "/apis/apps/v1/deployments", None, JSON),
    ("POST", MAPS, config_map("a"), JSON),
    ("PUT", f"{MAPS}/a", config_map("a"), JSON),
    ("PATCH", f"{MAPS}/a", {"data": {"a": "b"}}, MERGE_PATCH),
    ("DELETE", f"{MAPS}/a", None, JSON),
    ("DELETE", MAPS, None, JSON),
)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(
    request=st.sampled_from(PLAIN_REQUESTS),
    query=st.dictionaries(parameters, odd_values, min_size=1, max_size=3),
)
def test_any_query_gets_a_response(
    caller: Caller, request: tuple[str, str, object, str], query: dict[str, str]
) -> None:
    method, path, body, content_type = request
    parameters = urllib.parse.urlencode(query, errors="replace")
    check(caller.call(method, f"{path}?{parameters}", body, content_type=content_type))


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(body=bodies, content_type=media_types, request=st.sampled_from(PLAIN_REQUESTS[3:]))
def test_any_body_gets_a_response(
    caller: Caller, request: tuple[str, str, object, str], body: bytes | Repeated | None, content_type: str
) -> None:
    method, path, _, _ = request
    check(caller.call(method, path, sent(body), content_type=content_type))


@settings(max_examples=150, deadline=None)
@given(query=queries, given_headers=headers)
def test_any_watch_gets_a_stream_or_an_error(caller: Caller, query: str, given_headers: dict[str, str]) -> None:
    path = f"/api/v1/namespaces/kept/configmaps?watch=true&timeoutSeconds=1&{query}"
    connection = caller.connect()
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}", **given_headers})
        found = connection.getresponse()
        if found.status != 200:
            check(CallResponse(found.status, {"content-type": found.getheader("Content-Type", "")}, found.read()))
    finally:
        connection.close()  # most of them in the middle of the stream


@settings(max_examples=100, deadline=None)
@given(credential=credentials)
def test_no_other_credential_is_accepted(server: Server, credential: str) -> None:
    caller = Caller(server.url)
    response = caller.call("GET", KEPT, headers={"Authorization": credential})
    caller.close()
    check(response)
    if response.code == 200:
        scheme, *rest = credential.split()
        assert (scheme.lower(), rest) == ("bearer", [TOKEN])
    else:
        assert response.code in {401, 403}


# Objects with the right fields and odd values.

METHODS = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "get": "GET",
    "list": "GET",
    "deletecollection": "DELETE",
}
ODD_TRIES = 12
POINTERS = (
    "",
    "/spec",
    "/metadata",
    "/metadata/labels",
    "/metadata/finalizers/-",
    "/spec/containers/0",
    "/x/-",
)


class OddRequests:
    """Requests to one endpoint, always the same."""

    def __init__(self, endpoint: Endpoint, cls: ApiType) -> None:
        self._endpoint = endpoint
        self._cls = cls
        self._chance = random.Random(f"{endpoint.prefix}/{endpoint.name}")
        self._odd = OddObjects(self._chance)

    def __iter__(self) -> Iterator[tuple[str, str, object, str]]:
        for _ in range(ODD_TRIES):
            yield self._one()

    def _one(self) -> tuple[str, str, object, str]:
        endpoint, chance = self._endpoint, self._chance
        verbs = [verb for verb in endpoint.verbs if verb != "watch"]
        verb = chance.choice(verbs + ["create"] * 4 * ("create" in verbs))
        name = chance.choice(("a", "b", "a.b", "..", "x y", "%"))
        is_about_all = verb in {"create", "list", "deletecollection"} and "/" not in endpoint.name
        path = endpoint.path("fuzz", "" if is_about_all else urllib.parse.quote(name))
        if verb == "patch":
            return "PATCH", path, *self._patch(name)
        body = self._object(name) if verb in {"create", "update"} else None
        return METHODS[verb], path, body, JSON

    def _object(self, name: str) -> dict[str, Any]:
        found = self._odd.of(self._cls)
        metadata = found.get("metadata")
        metadata = metadata if isinstance(metadata, dict) and self._chance.random() < 0.3 else {}
        kind = self._endpoint.kind
        return {
            **found,
            "kind": kind.kind,
            "apiVersion": kind.api_version,
            "metadata": {**metadata, "name": name},
        }

    def _patch(self, name: str) -> tuple[object, str]:
        if self._chance.random() < 0.5:
            return self._object(name), MERGE_PATCH
        operation = self._chance.choice(("add", "remove", "replace", "test", "move", "copy"))
        path, source = self._chance.choice(POINTERS), self._chance.choice(POINTERS)
        return [{"op": operation, "path": path, "from": source, "value": self._odd.odd()}], JSON_PATCH


@pytest.mark.slow
def test_odd_objects_of_every_kind_are_stored_or_rejected(caller: Caller, endpoints: list[Endpoint]) -> None:
    codes: set[int] = set()
    for endpoint in endpoints:
        cls = endpoint.object_class()
        if cls is None:
            continue
        for method, path, body, content_type in OddRequests(endpoint, cls):
            if method == "DELETE" and path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
                continue  # the others need the namespace
            response = caller.call(method, path, body, content_type=content_type)
            check(response)
            codes.add(response.code)
    assert {200, 201, 400, 404, 409, 422} <= codes


def test_stored_objects_can_be_read_back_and_written_back(caller: Caller, endpoints: list[Endpoint]) -> None:
    for endpoint in endpoints:
        if "/" in endpoint.name or "list" not in endpoint.verbs:
            continue
        listed = caller.call("GET", f"{endpoint.prefix}/{endpoint.name}")
        assert listed.code == 200, listed.body
        for item in listed.json["items"]:
            meta = item["metadata"]
            path = endpoint.path(meta.get("namespace", ""), urllib.parse.quote(meta["name"], safe=""))
            found = caller.call("GET", path)
            assert found.json == {"kind": endpoint.kind.kind, "apiVersion": endpoint.kind.api_version, **item}
            again = caller.call("PUT", path, found.json)
            # What came in through a status may break a rule that only the whole object is held to.
            assert again.code == 422 or (again.code, again.json) == (200, found.json)


# Bytes that are not HTTP, or stop being HTTP.

HALVES = (
    b"",
    b"G",
    b"GET /healthz HT",
    b"GET /healthz HTTP/1.1\r\nHo",
    b"POST /api/v1/namespaces/fuzz/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
    b"POST /api/v1/namespaces/fuzz/configmaps HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    b"GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer let-me-in\r\n\r\n",
)


def talk(caller: Caller, sent: bytes) -> bytes:
    """Send bytes, shut down the sending side, and return the whole response."""
    with caller.socket() as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
        except ConnectionResetError:
            pass  # the server had enough of it
        return received


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda tail: b"GET /healthz HTTP/1.1\r\n" + tail))
def test_garbage_gets_an_http_response_or_a_closed_connection(caller: Caller, garbage: bytes) -> None:
    response = talk(caller, garbage)
    assert response == b"" or re.match(rb"HTTP/[01]\.[019] (200|400|403|404|501|505) ", response), response


@pytest.mark.parametrize("sent", HALVES)
def test_half_a_request_does_no_harm(caller: Caller, sent: bytes) -> None:
    response = talk(caller, sent)
    assert response == b"" or response.startswith(b"HTTP/1.")


@pytest.mark.parametrize("sent", HALVES)
def test_a_client_that_vanishes_does_no_harm(caller: Caller, server: Server, sent: bytes) -> None:
    with caller.socket() as connection:
        connection.sendall(sent)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset, not closed
    server.block_until_idle()
    assert caller.call("GET", "/healthz").body == b"ok"


def test_clients_that_vanish_in_the_middle_of_a_watch_do_no_harm(caller: Caller, server: Server) -> None:
    for _ in range(200):
        with caller.watching("/api/v1/namespaces/kept/configmaps?watch=true") as stream:
            assert b"kept" in stream.readline()
    server.block_until_idle()
    assert caller.call("GET", "/healthz").body == b"ok"


def test_an_endless_body_is_rejected_once_it_is_too_long(caller: Caller) -> None:
    head = (
        b"POST /api/v1/namespaces/fuzz/configmaps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer let-me-in\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with caller.socket() as connection:
        connection.sendall(head)
        for _ in range(3 * 16 + 1):
            connection.sendall(chunk)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")
