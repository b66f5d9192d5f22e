from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.portforward.port_specs import (
    ListenAddress,
    PortSpec,
    check_port,
    parse_addresses,
    parse_port,
)
from masthead.errors import ArgumentError

PORTS = st.integers(1, 65535)


@given(PORTS)
def test_a_number_is_a_port_of_the_pod_with_any_free_local_port(port: int) -> None:
    assert parse_port(port) == parse_port(f":{port}") == parse_port(f"0:{port}") == PortSpec(port, 0)


@given(PORTS, PORTS)
def test_texts_mean_what_they_mean_to_kubectl(local: int, remote: int) -> None:
    assert parse_port(f"{remote}") == PortSpec(remote, remote)
    assert parse_port(f"{local}:{remote}") == PortSpec(remote, local)


def test_a_port_may_have_a_name() -> None:
    assert parse_port("8443:https") == PortSpec("https", 8443)
    assert parse_port(":https") == PortSpec("https", 0)
    assert parse_port("https") == PortSpec("https", None)


@pytest.mark.parametrize(
    "given_port",
    [
        0,
        -1,
        65536,
        True,
        8080.0,
        None,
        "",
        ":",
        "0",
        "8080:",
        "1:2:3",
        "65536",
        "x:80",
        "-1:80",
        "99999999999:80",
        "80:70000",
    ],
)
def test_anything_else_is_no_port(given_port: object) -> None:
    with pytest.raises(ArgumentError, match="is no port to forward; give a number from 1 to 65535"):
        parse_port(given_port)  # type: ignore[arg-type]


@given(st.text())
def test_any_text_is_a_port_or_an_error(text: str) -> None:
    try:
        spec = parse_port(text)
    except ArgumentError:
        return
    assert spec.remote


def test_a_local_port_may_be_0() -> None:
    assert check_port(0, least=0) == 0


def test_localhost_is_both_loopback_addresses_of_which_one_may_be_missing() -> None:
    both = [ListenAddress("127.0.0.1", is_optional=True), ListenAddress("::1", is_optional=True)]
    assert parse_addresses("localhost") == parse_addresses(["localhost", "localhost"]) == both


def test_addresses_that_are_named_have_to_be_there() -> None:
    assert parse_addresses(["localhost", "127.0.0.1", "10.0.0.1"]) == [
        ListenAddress("127.0.0.1"),
        ListenAddress("::1", is_optional=True),
        ListenAddress("10.0.0.1"),
    ]


@pytest.mark.parametrize("address", [[], "example.com", "", "127.0.0.1:80"])
def test_anything_else_is_no_address(address: str | list[str]) -> None:
    with pytest.raises(ArgumentError, match="address"):
        parse_addresses(address)
