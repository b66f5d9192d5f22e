"""What is sent over the wire, and what is logged of it."""

from __future__ import annotations

import logging
import re

import pytest
from tests.unit.rest.scripted import FakeCredentials, FakeResponse, client, create, get, watch

from masthead._config.model import Impersonation
from masthead._meta.secret import reveal
from masthead._rest.headers import impersonation_headers
from masthead._rest.paths import format_target
from masthead._rest.settings import RestSettings, default_user_agent
from masthead.errors import ArgumentError
from masthead.testing.virtual_time import in_virtual_time

ALICE = Impersonation(user="alice", uid="u1", groups=["a", "b"], extra={"Scopes": ("x", "y"), "acme.com/p%": ("z",)})


@in_virtual_time
async def test_every_call_has_user_agent_and_accept() -> None:
    rest, network = client(FakeResponse())
    await rest.call(get(query=[("resourceVersion", "0"), ("a", "b c")]))
    request = network.requests[0]
    assert (request.method, request.target) == (
        "GET",
        "/api/v1/namespaces/ns/pods/web?resourceVersion=0&a=b+c",
    )
    assert {name: reveal(value) for name, value in request.headers} == {
        "User-Agent": default_user_agent(),
        "Accept": "application/json",
        "Authorization": "Bearer one",
    }
    assert request.body is None


def test_the_user_agent_names_the_library_and_the_platform() -> None:
    assert re.fullmatch(r"masthead/\d\S* \(\w+/\w+\) python/3\.\S+", default_user_agent())


@in_virtual_time
async def test_a_stream_has_the_same_headers_as_a_call() -> None:
    rest, network = client(FakeResponse(), FakeResponse())
    await rest.call(get())
    (await rest.open(watch())).close()
    asked, streamed = ({name: reveal(value) for name, value in request.headers} for request in network.requests)
    assert streamed == asked


@in_virtual_time
async def test_without_credentials_no_authorization_header_is_sent() -> None:
    rest, network = client(FakeResponse(), badge=FakeCredentials([""]))
    await rest.call(get())
    assert network.sent("authorization") == []


@in_virtual_time
async def test_each_verb_sends_its_method_and_body() -> None:
    rest, network = client(*(FakeResponse() for _ in range(6)))
    await rest.get("/a", query={"x": "1"})
    await rest.post("/a", b"1")
    await rest.put("/a", b"2")
    await rest.patch("/a", b"3", content_type="application/merge-patch+json")
    await rest.delete("/a")
    await rest.delete("/a", body=b"4", query={"dryRun": "All"})
    assert [(request.method, request.target, request.body) for request in network.requests] == [
        ("GET", "/a?x=1", None),
        ("POST", "/a", b"1"),
        ("PUT", "/a", b"2"),
        ("PATCH", "/a", b"3"),
        ("DELETE", "/a", None),
        ("DELETE", "/a?dryRun=All", b"4"),
    ]
    assert [network.sent("content-type", i) for i in (0, 1, 3, 4)] == [
        [],
        ["application/json"],
        ["application/merge-patch+json"],
        [],
    ]


@in_virtual_time
async def test_a_raw_path_may_contain_a_query() -> None:
    rest, network = client(FakeResponse())
    await rest.get("/openapi/v3/api/v1?hash=A%2FB&empty=", query={"x": "1"})
    assert network.requests[0].target == "/openapi/v3/api/v1?hash=A%2FB&empty=&x=1"


@in_virtual_time
async def test_a_raw_path_cannot_name_another_server() -> None:
    rest, network = client(FakeResponse())
    with pytest.raises(ArgumentError, match=r"'@evil\.example/' is not a request path"):
        await rest.get("@evil.example/?x")
    assert not network.requests


@in_virtual_time
async def test_a_calls_headers_take_precedence_over_the_clients() -> None:
    settings = RestSettings(user_agent="ours/1")
    rest, network = client(
        FakeResponse(), FakeResponse(), settings=settings, headers=[("X-Team", "a"), ("X-Other", "b")]
    )
    await rest.call(create())
    assert (network.sent("user-agent"), network.sent("x-team")) == (["ours/1"], ["a"])
    await rest.request(
        "POST",
        "/a",
        body=b"x",
        headers={"user-agent": "theirs/2", "x-TEAM": "c", "content-type": "text/x", "accept": "text/y"},
        accept="*/*",
    )
    sent = [network.sent(name) for name in ("user-agent", "x-team", "x-other", "content-type", "accept")]
    assert sent == [["theirs/2"], ["c"], ["b"], ["text/x"], ["text/y"]]


def test_impersonation_headers() -> None:
    assert impersonation_headers(ALICE) == (
        ("Impersonate-User", "alice"),
        ("Impersonate-Uid", "u1"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-Scopes", "x"),
        ("Impersonate-Extra-Scopes", "y"),
        ("Impersonate-Extra-acme.com%2Fp%25", "z"),
    )


def test_the_keys_of_extras_are_escaped_byte_by_byte() -> None:
    kept = "!#$&'*+-.^_`|~09AZaz"
    headers = impersonation_headers(Impersonation(user="u", extra={f'{kept} "(),/:;<=>?@[]{{}}%É': ("",)}))
    assert headers[1][0] == (f"Impersonate-Extra-{kept}%20%22%28%29%2C%2F%3A%3B%3C%3D%3E%3F%40%5B%5D%7B%7D%25%C3%89")


@in_virtual_time
async def test_a_calls_impersonation_replaces_the_clients_as_a_whole() -> None:
    rest, network = client(FakeResponse(), FakeResponse(), headers=impersonation_headers(ALICE))
    await rest.call(get())
    assert network.sent("impersonate-group") == ["a", "b"]
    await rest.call(get(headers=[("Impersonate-User", "bob")]))
    assert [pair for pair in network.requests[1].headers if pair[0].lower().startswith("impersonate")] == [
        ("Impersonate-User", "bob")
    ]


@in_virtual_time
async def test_no_repr_contains_secrets() -> None:
    call = get(query=[("token", "hush")], body=b"hush", headers=[("X", "hush")])
    rest, network = client(FakeResponse(body=b'"hush"'), badge=FakeCredentials(["hush"]))
    response = await rest.call(call)
    for each in (call, rest, response, network.requests[0]):
        assert "hush" not in repr(each).replace(network.requests[0].target, "")


@in_virtual_time
async def test_each_request_is_logged_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    rest, _ = client(FakeResponse(takes=0.25), FakeResponse(404, b""), FakeResponse())
    caplog.set_level(logging.INFO, "masthead.rest")
    await rest.call(get())
    assert not caplog.messages
    caplog.set_level(logging.DEBUG, "masthead.rest")
    with pytest.raises(Exception, match="empty"):
        await rest.call(get(query=[("token", "hush"), ("limit", "5")]))
    (await rest.open(watch())).close()
    assert caplog.messages == [
        "the API server: GET /api/v1/namespaces/ns/pods/web?token=...&limit=5: 404 after 0.000 s",
        "the API server: GET /api/v1/pods?watch=true: 200 after 0.000 s",
    ]


def test_logs_contain_only_query_parameters_of_the_api_and_no_line_breaks() -> None:
    query = [
        ("labelSelector", "app in (web,api)"),
        ("continue", "x" * 300),
        ("as\n", "hush"),
        ("limit", "\n5"),
    ]

    assert format_target("/api/v1/pods", query) == (
        f"/api/v1/pods?labelSelector=app%20in%20(web,api)&continue={'x' * 200}...&as%0A=...&limit=%0A5"
    )
    assert format_target("/api/v1/pods", ()) == "/api/v1/pods"


@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "3"},
        {"read_timeout": -1},
        {"read_timeout": None},
        {"attempts": 0},
        {"rate": 0},
        {"burst": 0},
        {"user_agent": "a\r\nX-Evil: 1"},
    ],
)
def test_invalid_settings_are_rejected(wrong: dict[str, object]) -> None:
    [name] = wrong
    with pytest.raises(ArgumentError, match=f"{name} must be "):
        RestSettings(**wrong)  # type: ignore[arg-type]
