"""Names and paths of proxies: what is valid is sent, and nothing leads elsewhere."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.proxy_names import checked_name, escaped_path
from masthead.errors import ArgumentError, NameFormatError


@pytest.mark.parametrize(
    "name",
    ["web", "web:8080", "web:http", "https:web:443", "http:web:", "https:web:", ":web:80", "web:", "a.b-c:1"],
)
def test_names_of_the_api_servers_forms_are_valid(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "scheme:name:port"),
        (":80", "scheme:name:port"),
        ("https::443", "scheme:name:port"),
        ("a:b:c:d", "scheme:name:port"),
        ("ftp:web:21", "its scheme is"),
        ("web:0", "neither a port"),
        ("web:65536", "neither a port"),
        ("web:99999999", "neither a port"),
        ("web:Http", "neither a port"),
        ("web:²", "neither a port"),
        ("web:80/x", "neither a port"),
    ],
)
def test_other_names_are_refused(name: str, problem: str) -> None:
    with pytest.raises(NameFormatError, match=rf"cannot be proxied: .*{problem}.*Nothing was sent"):
        checked_name(name)


@pytest.mark.parametrize(
    ("path", "escaped"),
    [
        ("", "/"),
        ("/", "/"),
        ("healthz", "/healthz"),
        ("/a b/ü#x", "/a%20b/%C3%BC%23x"),
        ("/a%20b%2Fc", "/a%20b%2Fc"),
        ("/100%", "/100%25"),
        ("/%zz", "/%25zz"),
        ("//two", "//two"),
        ("/...", "/..."),
    ],
)
def test_paths_are_escaped_once(path: str, escaped: str) -> None:
    assert escaped_path(path) == escaped


@pytest.mark.parametrize("path", ["..", "/a/../b", "/a/.", "/%2e%2e/secrets", "/.%2E", "/a/%2E"])
def test_no_path_leads_elsewhere(path: str) -> None:
    with pytest.raises(ArgumentError, match=r"is '\.' or '\.\.'. Nothing was sent"):
        escaped_path(path)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_an_escaped_path_is_a_path_and_means_the_same(path: str) -> None:
    if any(unquote(part) in {".", ".."} for part in path.split("/")):
        return
    escaped = escaped_path(path)

    assert escaped.startswith("/")
    assert escaped.isascii()
    assert not set(escaped) & set(' ?#\\\r\n"<>')
    if "%" not in path:
        assert unquote(escaped) == "/" + path.removeprefix("/")
