"""No secret that goes in comes out by accident."""

from __future__ import annotations

import functools
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.config.samples import Plain, packed, plain

from masthead._config.kubeconfig import parse
from masthead._config.yaml_node import YamlSource
from masthead._meta import yaml
from masthead.config import Config, ExecConfig, OidcConfig, from_kubeconfig
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

# What makes a secret odd to YAML, to addresses and to base64, around a core that nothing else contains.
odd = st.text(st.sampled_from("ab1 \t\n:/@#?%!&*|>'\"\\{}[],-=~é\x00"), max_size=6)
CORE = "s3kr1t"
secrets = st.builds(lambda before, after: f"{before}{CORE}{after}", odd, odd)

FIELDS = [
    "token",
    "password",
    "client_key_data",
    "username",
    "proxy_url",
    "server",
    "client_certificate_data",
]


def shown_by(make: Callable[[], Config]) -> str:
    """Everything that is shown of a configuration, or of the error that came instead."""
    try:
        config = make()
    except ConfigError as error:
        return "".join(traceback.format_exception(error)) + repr(error)
    return repr(config) + str(config) + config.describe()


@given(st.dictionaries(st.sampled_from(FIELDS), secrets, min_size=1), st.sampled_from(["", "A", "default"]))
def test_neither_a_config_nor_its_errors_show_what_was_given(fields: dict[str, str], namespace: str) -> None:
    for address in ("server", "proxy_url"):
        if address in fields:
            fields[address] = f"https://me:{fields[address]}@host"
    given_fields = {"server": "https://host", "namespace": namespace} | fields

    assert CORE not in shown_by(lambda: Config(**given_fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/~core-of-it", "/~core-of-it/", "/behind/~core-of-it", "/~core-of-it/a?b"])
def test_a_token_in_the_path_of_the_server_is_masked(path: str) -> None:
    shown = shown_by(lambda: Config(server=f"http://127.0.0.1:1{path}"))

    assert "core-of-it" not in shown
    assert "~***" in shown or "invalid" in shown


def test_the_path_itself_is_used() -> None:
    config = Config(server="http://127.0.0.1:1/~secret")

    assert config.server == "http://127.0.0.1:1/~secret"
    assert repr(config).startswith("Config(server='http://127.0.0.1:1/~***', namespace='default'")


@given(secrets)
def test_the_parts_do_not_show_theirs_either(secret: str) -> None:
    plugin = ExecConfig(command="aws", args=["--password", secret], env={"PASSWORD": secret}, cluster_config=secret)
    oidc = OidcConfig(issuer="https://a", client_id="b", client_secret=secret, id_token=secret, refresh_token=secret)

    assert CORE not in repr(plugin) + str(plugin) + repr(oidc) + str(oidc)


def places(secret: object) -> list[Plain]:
    """Kubeconfigs with a secret, in every place where one may be, and in some where it should not."""
    return [
        plain(user={"token": secret}),
        plain(user={"username": secret, "password": secret}),
        plain(user={"username": secret, "token": "t"}),
        plain(user={"client-key-data": secret}),
        plain(user={"client-key-data": packed(str(secret))}),
        plain(user={"client-certificate-data": secret, "client-key-data": packed(str(secret))}),
        plain(user={"exec": {"command": "aws", "env": [{"name": "A", "value": secret}], "args": [secret]}}),
        plain(user={"exec": secret}),
        plain(user={"auth-provider": {"name": "oidc", "config": {"client-secret": secret, "id-token": secret}}}),
        plain(user={"auth-provider": {"name": "gcp", "config": {"access-token": secret}}}),
        plain(user={"auth-provider": {"name": "oidc", "config": secret}}),
        plain(cluster={"server": f"http://me:{secret}@10.0.0.1"}),
        plain(cluster={"server": f"http://me:{quote(str(secret), safe='')}@127.0.0.1"}),
        plain(cluster={"proxy-url": f"http://me:{secret}@proxy"}, user={"token": secret}),
        plain(cluster={"certificate-authority-data": secret}),
        plain() | {"users": secret},
    ]


@pytest.mark.slow
@given(secrets | st.lists(secrets, max_size=2))
def test_no_kubeconfig_shows_its_secrets_whether_it_is_good_or_bad(secret: object) -> None:
    for data in places(secret):
        with suppress(ConfigError):
            assert CORE not in repr(parse(data, YamlSource("the kubeconfig")))
        assert CORE not in shown_by(functools.partial(from_kubeconfig, data, environ={}))


@given(secrets)
def test_yaml_that_trips_over_an_unquoted_password_does_not_show_it(secret: str) -> None:
    text = yaml.dump(plain()).replace("user: {}", f"user: {{token: {secret}}}")

    assert CORE in text
    assert CORE not in shown_by(lambda: from_kubeconfig(text, environ={}))


@pytest.mark.parametrize("password", ["!s3kr1t", "*s3kr1t", "&s3kr1t x: y", "0b0_s3kr1t: {", "@s3kr1t", "`s3kr1t"])
def test_passwords_that_mean_something_to_yaml_are_not_quoted_in_the_error(password: str) -> None:
    text = f"users:\n- name: dev\n  user:\n    password: {password}\n"

    with pytest.raises(ConfigError, match="is not a kubeconfig"):
        from_kubeconfig(text, environ={})
    assert CORE not in shown_by(lambda: from_kubeconfig(text, environ={}))
