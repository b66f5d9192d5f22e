"""What a proxy changes in requests and responses; the expected values are those of kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from masthead_server.kubelet.proxy_rules import (
    ProxyName,
    ProxyPath,
    forwarded_headers,
    returned_headers,
    rewritten_location,
)
from masthead_server.wire.failures import StatusFailure

PREFIX = "/api/v1/namespaces/default/pods/web/proxy"
PATH = ProxyPath(PREFIX, "/a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web", ("", "web", "")),
        ("web:8080", ("", "web", "8080")),
        ("web:http", ("", "web", "http")),
        ("https:web:8443", ("https", "web", "8443")),
        ("http:web:", ("http", "web", "")),
    ],
)
def test_a_name_has_a_scheme_and_a_port(text: str, expected: tuple[str, str, str]) -> None:
    assert ProxyName.of(text, "pod") == expected


@pytest.mark.parametrize("text", ["a:b:c:d", "ftp:web:80", ":80", "http::80"])
def test_a_malformed_name_is_refused(text: str) -> None:
    with pytest.raises(StatusFailure) as refused:
        ProxyName.of(text, "pod")
    assert refused.value.code == 400
    assert refused.value.message == f'invalid pod request "{text}"'


@pytest.mark.parametrize(
    ("path", "target"),
    [
        (PREFIX, "/"),
        (f"{PREFIX}/", "/"),
        (f"{PREFIX}/a/b", "/a/b"),
        (f"{PREFIX}/a/b/", "/a/b/"),
        (f"{PREFIX}/a%2Fb/c%20d//e/../f", "/a/b/c%20d/f"),
        (f"{PREFIX}//a", "/a"),
        (f"{PREFIX}/../../x", "/x"),
        (f"{PREFIX}/$&+,:;=@~!'()*%3F%23%C3%A4", "/$&+,:;=@~%21%27%28%29%2A%3F%23%C3%A4"),
    ],
)
def test_the_target_gets_the_rest_of_the_path_in_gos_words(path: str, target: str) -> None:
    found = ProxyPath.of(path, is_namespaced=True)
    assert found.prefix == PREFIX
    assert found.target == target
    assert found.forwarded_uri == f"{PREFIX}{target}"


def test_the_path_of_a_node_has_no_namespace() -> None:
    assert ProxyPath.of("/api/v1/nodes/n/proxy/healthz", is_namespaced=False) == (
        "/api/v1/nodes/n/proxy",
        "/healthz",
    )


def test_only_an_empty_path_has_no_rest() -> None:
    assert not ProxyPath.of(PREFIX, is_namespaced=True).rest
    assert ProxyPath.of(f"{PREFIX}/", is_namespaced=True).rest == "/"


def test_headers_of_one_connection_and_credentials_go_no_further() -> None:
    sent = [
        ("Host", "localhost"),
        ("Connection", "X-Gone, keep-alive"),
        ("X-Gone", "1"),
        ("Keep-Alive", "5"),
        ("TE", "trailers"),
        ("Transfer-Encoding", "chunked"),
        ("Authorization", "Bearer secret"),
        ("Impersonate-User", "bob"),
        ("X-Mine", "1"),
        ("X-Forwarded-For", "10.0.0.1"),
    ]
    assert forwarded_headers(sent, PATH, "127.0.0.1") == [
        ("Host", "localhost"),
        ("X-Mine", "1"),
        ("X-Forwarded-For", "10.0.0.1, 127.0.0.1"),
        ("X-Forwarded-Uri", f"{PREFIX}/a"),
    ]


def test_an_upgrade_keeps_the_headers_that_ask_for_it() -> None:
    sent = [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Authorization", "Bearer secret")]
    assert forwarded_headers(sent, PATH, "", is_upgrade=True) == sent[:2]


def test_a_response_may_be_cached_by_nobody_unless_the_target_says_more() -> None:
    got = [("Cache-Control", "max-age=5"), ("Connection", "X-Drop"), ("X-Drop", "1"), ("X-Own", "1")]
    assert returned_headers(got, PATH, "10.0.0.1:80", "localhost") == [
        ("Cache-Control", "no-cache, private"),
        ("Cache-Control", "max-age=5"),
        ("X-Own", "1"),
    ]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/there/", f"{PREFIX}/there/"),
        ("http://10.0.0.1:80/there/?q=1", f"{PREFIX}/there/?q=1"),
        ("http://localhost:1/there", f"http://localhost:1{PREFIX}/there"),
        ("there?x=1", "there?x=1"),
        ("http://example.com/there", "http://example.com/there"),
        (f"{PREFIX}/there", f"{PREFIX}/there"),
        ("http://[bad/", "http://[bad/"),
    ],
)
def test_a_redirect_leads_through_the_proxy_again(location: str, expected: str) -> None:
    assert rewritten_location(location, PREFIX, "10.0.0.1:80", "localhost:1") == expected
