"""Web pages cannot send requests to a server on their visitor's machine: Host and Origin are checked."""

from __future__ import annotations

import http.client
import logging
from typing import TYPE_CHECKING

import pytest
from tests.server.calls import MAPS, Caller, config_map

import masthead.server
from masthead_server.authentication.authenticator import token_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.server.calls import CallResponse

    from masthead.server import Server

ADVICE = "start the server with --allow-host NAME (allowed_hosts=[NAME])."


@pytest.fixture(scope="module")
def open_server() -> Iterator[Server]:
    with masthead.server.run(token=None) as running:
        yield running


def call(server: Server, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> CallResponse:
    """Send a request with a given Host, or none."""
    caller = Caller(server.url)
    connection = caller.connect()
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    found = connection.getresponse()
    headers = {name.lower(): value for name, value in found.getheaders()}
    response = type(caller.call("GET", "/version"))(found.status, headers, found.read())
    connection.close()
    caller.close()
    return response


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8001",
        "127.1.2.3",
        "localhost",
        "LOCALHOST:1",
        "localhost.",
        "[::1]",
        "[::1]:8001",
        "app.localhost:8001",
    ],
)
def test_this_machine_s_own_names_are_allowed(open_server: Server, host: str) -> None:
    assert call(open_server, "GET", MAPS, {"Host": host}).code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8001",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::2]",
        "localhost@evil.example",
        "evil.example@localhost",
        "[::1].evil.example",
        "",
        "[",
        "évil",
        "\N{FULLWIDTH DIGIT ONE}27.0.0.1",
        "2130706433",
    ],
)
def test_other_host_names_are_rejected_with_advice(open_server: Server, host: str) -> None:
    response = call(open_server, "GET", "/api/v1/secrets", {"Host": host.encode().decode("latin-1")})

    code, reason, message = response.failure
    assert (code, reason) == (403, "Forbidden")
    assert message.startswith("forbidden: the request is addressed to host '")
    assert message.endswith(ADVICE)


@pytest.mark.parametrize("origin", ["http://evil.example", "https://10.0.0.1:8001", "null", "", "file://"])
def test_a_foreign_origin_is_rejected(open_server: Server, origin: str) -> None:
    body = b'{"metadata":{"name":"a"}}'
    response = call(open_server, "POST", MAPS, {"Host": "127.0.0.1", "Origin": origin}, body)

    code, _, message = response.failure
    assert code == 403
    assert message.startswith("forbidden: the request comes from the web page '")
    assert "access-control-allow-origin" not in response.headers


def test_a_local_origin_is_allowed(open_server: Server) -> None:
    origin = {"Host": "localhost", "Origin": "http://localhost:3000"}
    assert call(open_server, "GET", MAPS, origin).code == 200


@pytest.mark.parametrize("path", ["/version", "/healthz", "/livez", "/readyz"])
def test_health_checks_are_open_to_any_host(open_server: Server, path: str) -> None:
    assert call(open_server, "GET", path, {"Host": "server.example"}).code == 200


def test_names_can_be_allowed() -> None:
    with masthead.server.run(token=None, allowed_hosts=["Host.docker.internal", "10.0.0.1"]) as server:
        for host, code in (("host.docker.internal:1", 200), ("10.0.0.1", 200), ("evil.example", 403)):
            assert call(server, "GET", MAPS, {"Host": host}).code == code
        from_page = {"Host": "localhost", "Origin": "https://host.docker.internal"}
        assert call(server, "GET", MAPS, from_page).code == 200
    with masthead.server.run(token=None, allowed_hosts=["*"]) as server:
        assert call(server, "GET", MAPS, {"Host": "evil.example", "Origin": "null"}).code == 200


def test_a_server_for_other_machines_is_reached_by_any_address_but_not_by_any_name() -> None:
    with masthead.server.run(host="0.0.0.0", allow_remote=True, token=None) as server:
        for host, code in (("192.168.1.7:8001", 200), ("[fe80::1]", 200), ("evil.example", 403)):
            assert call(server, "GET", MAPS, {"Host": host}).code == code


def test_a_request_with_the_bearer_token_may_use_any_host_name() -> None:
    with masthead.server.run(token="chosen") as server:
        foreign = {"Host": "evil.example", "Origin": "http://evil.example"}
        assert call(server, "GET", MAPS, {**foreign, "Authorization": "Bearer chosen"}).code == 200
        # A browser may have remembered it as a password, and would send that by itself.
        remembered = {"Authorization": "Basic eDpjaG9zZW4="}
        assert call(server, "GET", MAPS, {"Host": "localhost", **remembered}).code == 200
        assert call(server, "GET", MAPS, {**foreign, **remembered}).code == 403
        # Without a credential, no more is disclosed than to the anonymous user.
        assert "system:anonymous" in call(server, "GET", MAPS, foreign).failure[2]


def test_a_certificate_is_for_the_allowed_names_too() -> None:
    import ssl
    from urllib.parse import urlsplit

    with masthead.server.run(tls=True, allowed_hosts=["server.example", "*"]) as server:
        trust = ssl.create_default_context(cadata=server.ca)
        address = urlsplit(server.url)
        for name in ("localhost", "server.example"):
            caller = Caller(server.url)
            with caller.socket() as plain, trust.wrap_socket(plain, server_hostname=name) as secure:
                assert secure.version()
            caller.close()
        assert address.hostname == "127.0.0.1"


def test_rejected_requests_are_recorded(open_server: Server) -> None:
    call(open_server, "GET", MAPS, {"Host": "evil.example"})
    seen = open_server.requests[-2]  # the last was for the version
    assert (seen.path, seen.code, seen.headers["host"]) == (MAPS, 403, "evil.example")


def test_a_request_of_a_plain_client_is_accepted(open_server: Server) -> None:
    caller = Caller(open_server.url)
    assert caller.call("POST", MAPS, config_map("plain"), content_type=None).code == 201
    caller.close()


def test_a_token_in_the_path_authenticates_and_is_not_recorded() -> None:
    with masthead.server.run() as server:
        path = token_path(str(server.token))
        for target, code in (
            (f"{path}/api/v1/namespaces?limit=1", 200),
            (f"{path[:-1]}/api/v1/namespaces", 403),
            ("/api/v1/namespaces", 403),
            (f"{path}//api/v1/namespaces", 404),
            (path, 200),
        ):
            connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
            connection.request("GET", target)
            assert connection.getresponse().status == code, target
            connection.close()
        assert not any(str(server.token) in f"{seen.path}{seen.query}" for seen in server.requests)
        assert server.requests[0].path == "/api/v1/namespaces"


def test_near_misses_of_the_token_are_neither_logged_nor_recorded_nor_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    token = "a-token-of-some-length"
    with (
        masthead.server.run(token=token) as server,
        caplog.at_level(logging.INFO, "masthead.server.requests"),
    ):
        for target in (
            f"/~{token[:-1]}/api/v1/namespaces",
            f"/~{token}x/api/v1/namespaces",
            f"/%7E{token[:-1]}/api",
            f"//~{token[:-1]}/api",
            f"/~{token[:-1]}/%zz",
        ):
            connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
            connection.request("GET", target)
            response = connection.getresponse()
            assert response.status in {400, 403, 404}, target
            assert token[:-1] not in response.read().decode(), target
            connection.close()

        assert not any(token[:-1] in f"{seen.path}{seen.query}" for seen in server.requests)
        assert len(caplog.messages) == 5
        assert token[:-1] not in caplog.text
        assert "/~REDACTED/api/v1/namespaces" in caplog.text
