"""Kubeconfigs: what is read, what is refused, and what wins."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.config.samples import SERVER, Plain, packed, plain, several, written
from tests.unit.meta.data import json_values

from masthead._meta import yaml
from masthead._meta.secret import Secret
from masthead.config import Config, ExecConfig, Impersonation, OidcConfig, from_kubeconfig, load
from masthead.errors import ConfigError
from masthead_server.kubeconfig import kubeconfig as server_kubeconfig

if TYPE_CHECKING:
    from pathlib import Path

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
EXEC_V1 = "client.authentication.k8s.io/v1"
EXEC_V1BETA1 = f"{EXEC_V1}beta1"


def read(data: Plain | str | bytes) -> Config:
    return from_kubeconfig(data, environ={})


def refused(data: Plain | str | bytes) -> str:
    with pytest.raises(ConfigError) as caught:
        read(data)
    return str(caught.value)


def test_yaml_json_and_plain_data_say_the_same() -> None:
    data = plain(user={"token": "t"})

    assert read(data) == read(yaml.dump(data)) == read(json.dumps(data)) == read(json.dumps(data).encode())


def test_every_field_of_a_cluster_is_read() -> None:
    config = read(
        plain(
            cluster={
                "tls-server-name": "kubernetes",
                "certificate-authority-data": packed(PEM),
                "proxy-url": "socks5://proxy:1080",
                "disable-compression": True,
            },
            context={"namespace": "web"},
        )
    )

    assert config == Config(
        server=SERVER,
        namespace="web",
        ca_data=PEM,
        tls_server_name="kubernetes",
        proxy_url="socks5://proxy:1080",
        disable_compression=True,
        origin="the kubeconfig, context 'dev'",
    )
    assert read(plain(cluster={"insecure-skip-tls-verify": True})).insecure


def test_every_simple_field_of_a_user_is_read() -> None:
    config = read(
        plain(
            user={
                "token": "t",
                "tokenFile": "/token",
                "client-certificate-data": packed(PEM),
                "client-key-data": packed("key"),
                "as": "jane",
                "as-uid": "1",
                "as-groups": ["admins"],
                "as-user-extra": {"scopes": ["a", "b"]},
            }
        )
    )

    assert (config.token, str(config.token_file)) == (Secret("t"), "/token")
    assert (config.client_certificate_data, config.client_key_data) == (PEM, Secret("key"))
    assert config.impersonate == Impersonation(user="jane", uid="1", groups=["admins"], extra={"scopes": ("a", "b")})
    basic = read(plain(user={"username": "me", "password": "p"}))
    assert (basic.username, basic.password) == ("me", Secret("p"))


def test_a_plugin_is_read_with_what_the_cluster_has_for_it() -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    config = read(
        plain(
            cluster={"extensions": [{"name": "other", "extension": 1}, extension]},
            user={
                "exec": {
                    "apiVersion": EXEC_V1,
                    "command": "aws",
                    "args": ["eks"],
                    "env": [{"name": "A", "value": "b"}, {"name": "C"}],
                    "installHint": "get it",
                    "provideClusterInfo": True,
                    "interactiveMode": "Never",
                }
            },
        )
    )

    assert config.exec == ExecConfig(
        command="aws",
        args=["eks"],
        env={"A": "b", "C": ""},
        api_version=EXEC_V1,
        install_hint="get it",
        provide_cluster_info=True,
        interactive_mode="Never",
        cluster_config={"audience": "x"},
    )


@pytest.mark.parametrize("version", [EXEC_V1, EXEC_V1BETA1])
def test_the_interactive_mode_defaults_to_if_available(version: str) -> None:
    config = read(plain(user={"exec": {"apiVersion": version, "command": "aws", "args": None, "env": None}}))

    expected = ExecConfig(command="aws", api_version=version)
    assert (config.exec, expected.interactive_mode) == (expected, "IfAvailable")


def test_a_plugin_without_version_or_command_is_refused() -> None:
    said = refused(plain(user={"exec": {}}))

    assert "exec.command: is missing" in said
    assert "exec.api_version: must be" in said


def test_an_oidc_provider_is_read_and_knows_its_file(tmp_path: Path) -> None:
    settings = {
        "idp-issuer-url": "https://issuer",
        "client-id": "me",
        "client-secret": "s",
        "id-token": "i",
        "refresh-token": "r",
        "idp-certificate-authority": "ca.crt",
    }
    data = plain(user={"auth-provider": {"name": "oidc", "config": settings}})
    path = written(tmp_path / "config", data)
    wanted = OidcConfig(
        issuer="https://issuer",
        client_id="me",
        client_secret="s",
        id_token="i",
        refresh_token="r",
        ca_file=tmp_path / "ca.crt",
        kubeconfig=path,
        user="dev",
    )

    assert load(path, environ={}).oidc == wanted
    settings["idp-certificate-authority-data"] = packed(PEM)
    in_memory = read(data).oidc
    assert in_memory is not None
    assert (in_memory.kubeconfig, in_memory.ca_file, in_memory.ca_data) == (None, None, PEM)


@pytest.mark.parametrize(("name", "plugin"), [("gcp", "gke-gcloud-auth-plugin"), ("azure", "kubelogin"), ("x", "")])
def test_other_providers_are_refused_when_they_are_needed(name: str, plugin: str) -> None:
    data = plain(user={"auth-provider": {"name": name}})
    said = refused(data)

    assert said.startswith("the kubeconfig: users[0].user.auth-provider.config: ")
    assert repr(name) in said
    assert said.endswith(f"use an exec plugin instead{': ' if plugin else ''}{plugin}")
    data["users"].append({"name": "other", "user": {"token": "t"}})
    assert from_kubeconfig(data, environ={}, user="other").token == Secret("t")
    assert from_kubeconfig(data, environ={}, token="t").token == Secret("t")


def test_unknown_fields_and_null_sections_are_accepted() -> None:
    data = plain(cluster={"future": {"a": 1}}, user={"future": [1], "exec": None, "auth-provider": None})
    data |= {"preferences": {"colors": True}, "extensions": None, "future": 1}

    assert read(data).server == SERVER
    assert "there is no context" in refused(
        {"clusters": None, "users": None, "contexts": None} | {"current-context": "", "users": several("a")["users"]}
    )


def test_data_wins_over_a_file_that_need_not_be_there() -> None:
    config = read(
        plain(
            cluster={"certificate-authority": "/no/ca", "certificate-authority-data": packed(PEM)},
            user={
                "client-certificate": "/no/crt",
                "client-certificate-data": packed(PEM),
                "client-key": "/no/key",
                "client-key-data": packed("key"),
            },
        )
    )

    assert (config.ca_file, config.client_certificate_file, config.client_key_file) == (None, None, None)
    assert (config.ca_data, config.client_key_data) == (PEM, Secret("key"))


def test_files_that_are_not_there_are_all_named() -> None:
    said = refused(
        plain(
            cluster={"certificate-authority": "/no/ca"},
            user={"client-certificate": "/no/crt", "client-key": "/no/key"},
        )
    )

    assert said == (
        "the kubeconfig, context 'dev': there is no such file: certificate-authority /no/ca; "
        "client-certificate /no/crt; client-key /no/key"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("[]", "is not a kubeconfig: it is not a map"),
        ("just text", "is not a kubeconfig: it is not a map"),
        ("a: b: c", "is not a kubeconfig: it is not YAML (line 1"),
        ("a: 1\na: 2", 'is not a kubeconfig: the key "a" appears twice (line 2)'),
        ("a: 1\n---\nb: 2", "is not a kubeconfig: expected one YAML document, got 2 documents"),
        (b"\x00\x01\x02\xff\xfe", "is not a kubeconfig: it is not YAML"),
        (b"\x7fELF\x02\x01\x01\x00", "is not a kubeconfig: it is not YAML"),
        ({"kind": "Pod", "apiVersion": "v1"}, "is not a kubeconfig but kind 'Pod' of apiVersion 'v1'"),
        ({"clusters": {"a": "b"}}, "clusters: must be a list, and is a map"),
        ({"clusters": ["a"]}, "clusters[0]: must be a map, and is text"),
        ({"clusters": [None]}, "clusters[0].name: is missing"),
        ({"clusters": [{"name": 1}]}, "clusters[0].name: must be text, and is a number; put it in quotes"),
        ({"users": [{"name": ""}]}, "users[0].name: is missing"),
        ({"contexts": [{"name": "", "context": {"cluster": "a"}}]}, "contexts[0].name: is missing"),
        ({"users": [{"name": "a", "user": []}]}, "users[0].user: must be a map, and is a list"),
        ({"contexts": [{"name": "a", "context": {"user": True}}]}, "contexts[0].context.user: must be text"),
        ({"current-context": 5}, "current-context: must be text, and is a number"),
        (plain(cluster={"server": ["a"]}), "clusters[0].cluster.server: must be text, and is a list"),
        (
            plain(cluster={"insecure-skip-tls-verify": "true"}),
            "clusters[0].cluster.insecure-skip-tls-verify: must be true or false, and is text, without quotes",
        ),
        (
            plain(cluster={"certificate-authority-data": "%%%"}),
            "clusters[0].cluster.certificate-authority-data: is not base64",
        ),
        (
            plain(cluster={"certificate-authority-data": "é"}),
            "clusters[0].cluster.certificate-authority-data: is not base64",
        ),
        (
            plain(user={"client-key-data": "/w=="}),
            "users[0].user.client-key-data: is base64 of something that is not text",
        ),
        (
            plain(user={"token": 12345}),
            "users[0].user.token: must be text, and is a number; put it in quotes",
        ),
        (
            plain(user={"exec": {"command": {}}}),
            "users[0].user.exec.command: must be text, and is a map",
        ),
        (plain(user={"exec": {"args": "a b"}}), "users[0].user.exec.args: must be a list, and is text"),
        (plain(user={"exec": {"args": [1]}}), "users[0].user.exec.args[0]: must be text"),
        (plain(user={"exec": {"env": [{"value": "a"}]}}), "users[0].user.exec.env[0].name: is missing"),
        (plain(user={"auth-provider": {}}), "users[0].user.auth-provider.name: is missing"),
        (plain(user={"as-groups": "a"}), "users[0].user.as-groups: must be a list, and is text"),
        (plain(user={"as-user-extra": {"a": "b"}}), "users[0].user.as-user-extra.a: must be a list"),
        ({"users": ("a",)}, "users: must be a list, and is a Python tuple"),
    ],
)
def test_a_field_of_the_wrong_type_is_rejected_with_its_path(data: Plain | str | bytes, said: str) -> None:
    assert refused(data).startswith(f"the kubeconfig: {said}")


@pytest.mark.parametrize("section", ["clusters", "users", "contexts"])
def test_a_name_that_stands_twice_in_one_file_is_an_error(section: str) -> None:
    data = several("a", "b")
    data[section].append({"name": "a"})

    said = f"the kubeconfig: {section}[2].name: 'a' is duplicated; rename or remove one of the two"
    assert refused(data) == said


def test_impersonation_without_a_user_is_refused() -> None:
    assert "impersonate.user: is missing" in refused(plain(user={"as-groups": ["a"]}))


@pytest.mark.parametrize("content", ["", "   \n", "# nothing\n", "{}", "null", {}, b""])
def test_an_empty_kubeconfig_is_refused(content: str | bytes | Plain) -> None:
    assert refused(content).startswith("the kubeconfig: names no cluster, user or context")


def test_the_embedded_servers_kubeconfig_is_understood_with_and_without_tls() -> None:
    http = read(server_kubeconfig("http://127.0.0.1:1234", token="t/@:"))
    https = read(server_kubeconfig("https://127.0.0.1:1234", token="t", authority=PEM))
    free = read(server_kubeconfig("http://127.0.0.1:1234", token=None))

    assert (http.server, http.token, http.username) == ("http://127.0.0.1:1234", Secret("t/@:"), "")
    assert (https.server, https.token, https.ca_data) == ("https://127.0.0.1:1234", Secret("t"), PEM)
    assert not free.sends_authorization


def test_without_a_token_the_name_and_password_in_the_address_count() -> None:
    config = read(plain(cluster={"server": "http://me:pass@127.0.0.1:1"}))

    assert (config.server, config.username, config.password) == ("http://127.0.0.1:1", "me", Secret("pass"))


def test_relative_paths_begin_at_the_file_that_has_them(tmp_path: Path) -> None:
    for name in ("ca.crt", "me.crt", "me.key"):
        (tmp_path / name).write_text("x")
    data = plain(
        cluster={"certificate-authority": "ca.crt"},
        user={
            "client-certificate": "me.crt",
            "client-key": "me.key",
            "tokenFile": "token",
            "exec": {"apiVersion": EXEC_V1, "command": f"bin{os.sep}tool"},
        },
    )
    config = load(written(tmp_path / "config", data), environ={})

    assert config.ca_file == tmp_path / "ca.crt"
    assert config.client_certificate_file == tmp_path / "me.crt"
    assert config.client_key_file == tmp_path / "me.key"
    assert config.token_file == tmp_path / "token"
    assert config.exec is not None
    assert config.exec.command == str(tmp_path / "bin" / "tool")
    assert from_kubeconfig(data, folder=tmp_path, environ={}).ca_file == tmp_path / "ca.crt"


def test_a_relative_kubeconfig_gives_paths_that_outlive_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "config", plain(user={"tokenFile": "token"}))
    monkeypatch.chdir(tmp_path)

    assert load("config", environ={}).token_file == tmp_path / "token"


def test_absolute_paths_and_bare_commands_stay_as_they_are(tmp_path: Path) -> None:
    user = {"tokenFile": "/t", "exec": {"apiVersion": EXEC_V1, "command": "tool"}}
    config = load(written(tmp_path / "config", plain(user=user)), environ={})

    assert str(config.token_file) == "/t"
    assert config.exec is not None
    assert config.exec.command == "tool"


def test_of_several_files_the_first_wins_entry_by_entry(tmp_path: Path) -> None:
    first = several("a", "b") | {"current-context": "a"}
    second: Plain = several("b", "c") | {"current-context": "c"}
    second["clusters"][0]["cluster"] = {"server": "https://other", "tls-server-name": "other"}
    second["users"][0]["user"] = {"username": "mixed", "password": "in"}
    files = os.pathsep.join(str(written(tmp_path / name, data)) for name, data in [("1", first), ("2", second)])
    environ = {"KUBECONFIG": files}

    assert load(environ=environ).server == "https://a"
    b = load(environ=environ, context="b")
    assert (b.server, b.tls_server_name, b.username, b.token) == ("https://b", "", "", Secret("token-of-b"))
    assert load(environ=environ, context="c").server == "https://c"
    assert b.origin == f"{files}, context 'b'"


def test_entries_of_different_files_join_and_keep_their_own_folders(tmp_path: Path) -> None:
    one = written(tmp_path / "one" / "config", {"users": [{"name": "dev", "user": {"tokenFile": "token"}}]})
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "ca").write_text("x")
    two = written(tmp_path / "two" / "config", plain(cluster={"certificate-authority": "ca"}))
    config = load(environ={"KUBECONFIG": f"{one}{os.pathsep}{two}"})

    assert (config.token_file, config.ca_file) == (one.parent / "token", two.parent / "ca")


@given(st.dictionaries(st.sampled_from(["clusters", "users", "contexts", "current-context", "kind"]), json_values))
def test_any_kubeconfig_data_gives_a_config_or_a_config_error(data: Plain) -> None:
    with pytest.raises(ConfigError):
        read(data)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_config_error(content: bytes) -> None:
    with pytest.raises(ConfigError):
        read(content)


@pytest.mark.parametrize(
    ("server", "kept"),
    [
        ("http://127.0.0.1:8001/~t%2Fk", "http://127.0.0.1:8001"),
        ("http://127.0.0.1:8001/~other", "http://127.0.0.1:8001/~other"),
        ("https://rancher.example/k8s/clusters/c", "https://rancher.example/k8s/clusters/c"),
    ],
)
def test_a_token_at_the_end_of_the_address_is_not_kept_there(server: str, kept: str) -> None:
    assert Config(server=server, token="t/k").server == kept


def test_a_token_that_is_given_counts_though_the_address_has_another() -> None:
    text = server_kubeconfig("http://127.0.0.1:8001/~right", token="right")
    assert from_kubeconfig(text).server == "http://127.0.0.1:8001"
    given = from_kubeconfig(text, token="wrong")
    assert (given.server, given.token.reveal()) == ("http://127.0.0.1:8001", "wrong")
