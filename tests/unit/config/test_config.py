"""A configuration converts its arguments, and reports all problems at once."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from tests.unit.config.samples import SERVER

from masthead._meta.secret import Secret
from masthead.config import Config, ExecConfig, Impersonation, OidcConfig
from masthead.errors import ConfigError


def problems(**fields: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        Config(**{"server": SERVER, **fields})  # type: ignore[arg-type]
    return str(caught.value).removeprefix("this configuration is invalid:").strip().split("\n  - ")


def test_text_becomes_a_secret_or_a_path_where_the_field_wants_one() -> None:
    config = Config(server=SERVER, token="t", ca_file="ca.crt")

    assert (config.token, config.ca_file) == (Secret("t"), Path("ca.crt"))


def test_none_and_the_empty_string_are_no_secret_and_no_path() -> None:
    config = Config(server=SERVER, token=None, ca_file="", token_file=None)

    assert (config.token, config.ca_file, config.token_file) == (Secret(), None, None)
    assert config == Config(server=SERVER)


def test_nested_fields_convert_and_a_single_string_becomes_one_element() -> None:
    plugin = ExecConfig(command="aws", args=["eks", "get-token"])
    oidc = OidcConfig(issuer="https://issuer", client_id="me", id_token="t", ca_file="ca.crt")

    assert plugin.args == ("eks", "get-token")
    assert ExecConfig(command="aws").args == ()
    assert (oidc.id_token, oidc.ca_file) == (Secret("t"), Path("ca.crt"))
    assert Impersonation(user="jane", groups="admins").groups == ("admins",)


def test_a_changed_copy_is_checked_and_converted_again() -> None:
    config = Config(server=SERVER, token="t")

    assert dataclasses.replace(config, token="other").token == Secret("other")
    with pytest.raises(ConfigError):
        dataclasses.replace(config, server="")


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config(server=SERVER).token = "t"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"server": ""}, "server: is missing"),
        ({"server": "10.0.0.1:6443"}, "server: has no scheme"),
        ({"server": "host/path"}, "server: has no scheme"),
        ({"server": "user:secret@localhost"}, "server: has no scheme"),
        ({"server": "ftp://host"}, "server: the scheme must be https or http, not 'ftp'"),
        ({"server": "https://"}, "server: has no host"),
        ({"server": "https://host:port"}, "server: has a port that is not a number"),
        ({"server": "https://host:99999"}, "server: has a port that is not a number"),
        ({"server": "https://[::1"}, "server: has brackets"),
        ({"server": "https://ho st"}, "server: contains a space"),
        ({"server": "https://host\n"}, "server: contains a space"),
        ({"server": "https://host?a=b"}, "server: must end with its path"),
        ({"server": "https://me:pass/word@host"}, "server: has a port that is not a number"),
        ({"server": "https://me/word@host"}, "server: has an @ behind the host"),
        ({"ca_file": "a", "ca_data": "b"}, "ca_file: given together with ca_data"),
        ({"insecure": True, "ca_file": "a"}, "insecure: given together with an authority"),
        ({"insecure": True, "ca_data": "a"}, "insecure: given together with an authority"),
        ({"client_certificate_file": "a"}, "client_key_file: is missing"),
        ({"client_key_data": "a"}, "client_certificate_file: is missing"),
        (
            {"client_key_data": "a", "client_key_file": "b", "client_certificate_file": "c"},
            "client_key_file: given together with client_key_data",
        ),
        ({"token": "a", "username": "b"}, "token: given together with username"),
        ({"token_file": "a", "password": "b"}, "token: given together with username"),
        ({"token": "a\n"}, "token: contains a line break"),
        ({"username": "a:b"}, "username: contains a colon"),
        (
            {"exec": ExecConfig(command="a"), "oidc": OidcConfig(issuer="https://a", client_id="b")},
            "exec: given together with oidc",
        ),
        ({"exec": ExecConfig(command="")}, "exec.command: is missing"),
        ({"exec": ExecConfig(command="a", api_version="")}, "exec.api_version: must be"),
        (
            {"exec": ExecConfig(command="a", api_version="client.authentication.k8s.io/v1alpha1")},
            "exec.api_version: must be",
        ),
        (
            {"exec": ExecConfig(command="a", interactive_mode="always")},
            "exec.interactive_mode: must be one of Never, IfAvailable, Always, not 'always'",
        ),
        ({"oidc": OidcConfig(issuer="", client_id="a")}, "oidc.issuer: is missing"),
        ({"oidc": OidcConfig(issuer="issuer", client_id="a")}, "oidc.issuer: has no scheme"),
        ({"oidc": OidcConfig(issuer="ldap://a", client_id="a")}, "oidc.issuer: the scheme must be https"),
        ({"oidc": OidcConfig(issuer="http://a", client_id="a")}, "oidc.issuer: uses plain HTTP"),
        ({"oidc": OidcConfig(issuer="https://a", client_id="")}, "oidc.client_id: is missing"),
        (
            {"oidc": OidcConfig(issuer="https://a", client_id="a", ca_file="b", ca_data="c")},
            "oidc.ca_file: given together with ca_data",
        ),
        ({"impersonate": Impersonation(user="", uid="1")}, "impersonate.user: is missing"),
        ({"impersonate": Impersonation(user="", groups=["a"])}, "impersonate.user: is missing"),
        ({"impersonate": Impersonation(user="", extra={"a": ("b",)})}, "impersonate.user: is missing"),
        ({"proxy_url": "ftp://proxy"}, "proxy_url: the scheme must be one of http, https, socks5, socks5h"),
        ({"proxy_url": "http://me:1/2@proxy"}, "proxy_url: has an @ behind the host"),
        ({"proxy_url": "proxy:3128"}, "proxy_url: has no scheme"),
        ({"namespace": "My_Space"}, "namespace: 'My_Space' may hold only"),
        ({"namespace": ""}, "namespace: '' must not be empty"),
    ],
)
def test_an_invalid_value_is_rejected(fields: dict[str, object], problem: str) -> None:
    (found,) = problems(**fields)

    assert found.startswith(problem)


def test_all_problems_are_reported_at_once_with_the_origin() -> None:
    with pytest.raises(ConfigError) as caught:
        Config(server="host/", namespace="A", ca_file="a", ca_data="b", origin="/home/x/config")

    assert str(caught.value).splitlines() == [
        "/home/x/config is invalid:",
        "  - server: has no scheme; write https:// before it",
        "  - ca_file: given together with ca_data; keep one of them",
        "  - namespace: 'A' may hold only a-z, 0-9 and '-', and must begin and end with a letter or digit",
    ]


@pytest.mark.parametrize(
    ("fields", "server"),
    [
        ({"server": "10.0.0.1:6443", "ca_data": "PEM"}, "https://10.0.0.1:6443"),
        ({"server": "api.example.com", "insecure": True}, "https://api.example.com"),
        ({"server": "localhost:6443", "ca_file": "ca.crt"}, "https://localhost:6443"),
        (
            {"server": "localhost", "client_certificate_file": "a", "client_key_file": "b"},
            "https://localhost",
        ),
        ({"server": "[2001:db8::1]:6443", "insecure": True}, "https://[2001:db8::1]:6443"),
        ({"server": "localhost:8080"}, "http://localhost:8080"),
        ({"server": "127.0.0.1:8080", "token": "t"}, "http://127.0.0.1:8080"),
        ({"server": "[::1]:8080"}, "http://[::1]:8080"),
    ],
)
def test_a_server_without_a_scheme_is_completed_as_kubectl_does(fields: dict[str, Any], server: str) -> None:
    assert Config(**fields).server == server


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
def test_proxies_of_four_kinds_will_do(scheme: str) -> None:
    assert Config(server=SERVER, proxy_url=f"{scheme}://proxy:1").proxy_url == f"{scheme}://proxy:1"


def test_a_token_and_its_file_may_stand_side_by_side() -> None:
    config = Config(server=SERVER, token="first", token_file="later")

    assert (config.token, config.token_file) == (Secret("first"), Path("later"))


def test_user_and_password_are_removed_from_the_url() -> None:
    config = Config(server="https://me:p%2Fw%40@host:6443/path/")

    assert config.server == "https://host:6443/path"
    assert (config.username, config.password) == ("me", Secret("p/w@"))


@pytest.mark.parametrize(
    "other",
    [
        {"token": "t"},
        {"token_file": "t"},
        {"username": "jane", "password": "other"},
        {"exec": ExecConfig(command="a")},
        {"oidc": OidcConfig(issuer="https://a", client_id="b")},
    ],
)
def test_any_other_credential_wins_over_one_in_the_address(other: dict[str, object]) -> None:
    config = Config(server="https://me:pass@host", **other)  # type: ignore[arg-type]

    assert config == Config(server="https://host", **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "credential",
    [
        {"token": "t"},
        {"token_file": "t"},
        {"username": "u"},
        {"exec": ExecConfig(command="a")},
        {"oidc": OidcConfig(issuer="https://a", client_id="b")},
    ],
)
def test_credentials_are_not_sent_without_tls_to_other_machines(credential: dict[str, object]) -> None:
    (found,) = problems(server="http://10.0.0.1:8080", **credential)

    assert "plain HTTP" in found
    assert "allow_plain_http=True" in found
    config = Config(server="http://10.0.0.1", allow_plain_http=True, **credential)  # type: ignore[arg-type]
    assert config.sends_authorization


def test_nor_are_those_in_the_address() -> None:
    (found,) = problems(server="http://me:pass@10.0.0.1:8080")

    assert "plain HTTP" in found


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.9.8.7:80",
        "[::1]:80",
        "localhost",
        "LOCALHOST:8080",
        "localhost.",
        "[::ffff:127.0.0.1]",
    ],
)
def test_credentials_are_sent_without_tls_to_this_machine(host: str) -> None:
    assert Config(server=f"http://{host}", token="t").token


@pytest.mark.parametrize("host", ["127.0.0.1.example.com", "localhost.example.com", "0.0.0.0", "[::2]"])
def test_names_that_only_look_like_this_machine_are_others(host: str) -> None:
    (found,) = problems(server=f"http://{host}", token="t")

    assert "plain HTTP" in found


def test_this_machine_through_a_proxy_elsewhere_is_another_machine() -> None:
    (found,) = problems(server="http://127.0.0.1", token="t", proxy_url="http://proxy:3128")

    assert "plain HTTP" in found
    assert Config(server="http://127.0.0.1", token="t", proxy_url="http://127.0.0.1:3128").token


def test_without_credentials_plain_http_will_do() -> None:
    assert Config(server="http://10.0.0.1:8080").server == "http://10.0.0.1:8080"


@pytest.mark.parametrize(
    ("config", "line"),
    [
        (Config(server=SERVER), f"{SERVER} with no credentials, namespace default"),
        (
            Config(
                server=SERVER,
                token="t",
                namespace="web",
                proxy_url="http://me:pass@proxy:3128",
                impersonate=Impersonation(user="jane"),
                origin="/home/x/config",
            ),
            f"{SERVER} with a token, namespace web, acting as jane, through http://proxy:3128, from /home/x/config",
        ),
        (
            Config(server=SERVER, client_certificate_data="c", client_key_data="k", token_file="/token"),
            f"{SERVER} with a client certificate and the token in /token, namespace default",
        ),
        (
            Config(server=SERVER, exec=ExecConfig(command="aws")),
            f"{SERVER} with the program aws, namespace default",
        ),
        (
            Config(server=SERVER, oidc=OidcConfig(issuer="https://a", client_id="b")),
            f"{SERVER} with OpenID Connect, namespace default",
        ),
        (Config(server=SERVER, username="u"), f"{SERVER} with a password, namespace default"),
    ],
)
def test_a_config_describes_itself_in_one_line(config: Config, line: str) -> None:
    assert config.describe() == line


@pytest.mark.parametrize("server", ["http://10.0.0.1:8080", "http://127.0.0.1:8080", "HTTP://localhost"])
@pytest.mark.parametrize("allow_plain_http", [False, True])
def test_a_client_certificate_without_tls_is_not_a_credential(server: str, allow_plain_http: bool) -> None:
    pair = {"client_certificate_data": "c", "client_key_data": "k"}
    (found,) = problems(server=server, allow_plain_http=allow_plain_http, **pair)

    assert "client certificates are sent in TLS only" in found
    assert Config(server=server, allow_plain_http=True, token="t", **pair).token  # type: ignore[arg-type]
