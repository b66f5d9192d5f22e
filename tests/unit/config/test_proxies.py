"""Proxy variables of the environment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead.config import proxy_for

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        ("https://host", {}, ""),
        ("https://host", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://host", {"https_proxy": PROXY}, PROXY),
        ("https://host", {"HTTPS_PROXY": PROXY, "https_proxy": "http://other"}, PROXY),
        ("https://host", {"HTTPS_PROXY": " ", "https_proxy": PROXY}, PROXY),
        ("https://host", {"HTTP_PROXY": PROXY}, ""),
        ("https://host", {"ALL_PROXY": PROXY}, PROXY),
        ("https://host", {"all_proxy": PROXY, "https_proxy": "http://other"}, "http://other"),
        ("http://host", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://host", {"HTTPS_PROXY": PROXY}, ""),
        ("HTTP://HOST", {"http_proxy": PROXY}, PROXY),
        ("https://host", {"HTTPS_PROXY": "proxy:3128"}, PROXY),
        ("https://host", {"HTTPS_PROXY": "socks5h://me:pass@proxy"}, "socks5h://me:pass@proxy"),
        ("http://host", {"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, ""),
        ("https://host", {"HTTPS_PROXY": PROXY, "REQUEST_METHOD": "GET"}, PROXY),
        ("not an address", {"HTTPS_PROXY": PROXY}, ""),
    ],
)
def test_the_environment_names_a_proxy_by_scheme(server: str, environ: dict[str, str], proxy: str) -> None:
    assert proxy_for(server, environ) == proxy


@pytest.mark.parametrize("host", ["127.0.0.1:1", "127.8.8.8", "[::1]:1", "localhost", "LocalHost:6443"])
def test_this_machine_is_never_behind_a_proxy(host: str) -> None:
    assert proxy_for(f"https://{host}", {"ALL_PROXY": PROXY}) == ""


@pytest.mark.parametrize(
    ("host", "rules"),
    [
        ("anything", "*"),
        ("example.com", "example.com"),
        ("EXAMPLE.com", "Example.COM"),
        ("example.com.", "example.com"),
        ("a.example.com", "example.com"),
        ("a.b.example.com", ".example.com"),
        ("a.example.com", "*.example.com"),
        ("example.com:6443", "example.com:6443"),
        ("example.com", "example.com:443"),
        ("10.1.2.3", "10.1.2.3"),
        ("10.1.2.3:6443", "10.0.0.0/8"),
        ("10.1.2.3", "10.1.2.3/8"),
        ("10.1.2.3:6443", "10.1.2.3:6443"),
        ("[fd00::1]", "fd00::1"),
        ("[fd00::1]", "[fd00::1]"),
        ("[fd00::1]:6443", "[fd00::1]:6443"),
        ("[fd00::1]", "fd00::/8"),
        ("example.com", " other.com , example.com "),
        ("example.com", ",,example.com"),
    ],
)
def test_who_is_named_is_reached_directly(host: str, rules: str) -> None:
    assert proxy_for(f"https://{host}", {"HTTPS_PROXY": PROXY, "NO_PROXY": rules}) == ""
    assert proxy_for(f"https://{host}", {"HTTPS_PROXY": PROXY, "no_proxy": rules}) == ""


@pytest.mark.parametrize(
    ("host", "rules"),
    [
        ("example.com", ""),
        ("example.com", " , "),
        ("example.com", ".example.com"),
        ("example.com", "*.example.com"),
        ("badexample.com", "example.com"),
        ("example.com", "example.com:6443"),
        ("example.com:6443", "example.com:443"),
        ("10.1.2.3", "11.0.0.0/8"),
        ("10.1.2.3", "nonsense/8"),
        ("10.1.2.3", "2.3"),
        ("example.com", "10.0.0.0/8"),
        ("[fd00::1]", "10.0.0.0/8"),
        ("[fd00::1]:6443", "[fd00::1]:443"),
    ],
)
def test_who_is_not_named_is_reached_through_the_proxy(host: str, rules: str) -> None:
    assert proxy_for(f"https://{host}", {"HTTPS_PROXY": PROXY, "NO_PROXY": rules}) == PROXY


@given(st.text(max_size=20), st.text(max_size=30))
def test_any_rule_and_url_is_accepted(server: str, rules: str) -> None:
    environ = {"ALL_PROXY": PROXY, "NO_PROXY": rules}

    assert proxy_for(f"https://{server}", environ) in {"", PROXY}
    assert proxy_for("https://10.0.0.1", environ) in {"", PROXY}
