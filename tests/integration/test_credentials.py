"""Authentication with every kind of credential, from kubeconfigs on disk to servers that verify it."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.conftest import connected
from tests.integration.guarded import Gate, kubeconfig, of, running
from tests.unit.auth.plugins import V1, V1BETA1, Line, Program
from tests.unit.config.samples import packed
from tests.unit.transport.servers import serving

import masthead.aio
import masthead.server
from masthead._auth.exec import ExecPlugin
from masthead._meta import yaml
from masthead._rest import renewed_credentials
from masthead.auth import Certificate, Secret
from masthead.config import Config, Impersonation, in_cluster
from masthead.errors import (
    ArgumentError,
    AuthError,
    ClosedError,
    ConfigError,
    ForbiddenError,
    MastheadError,
    NameFormatError,
    TransportError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead.server import Server

TOKEN = "t0ken-that-opens"
WRONG = "t0ken-that-does-not"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(tls=True, token=TOKEN) as running_server:
        yield running_server


@pytest.fixture
def gate() -> Gate:
    return Gate()


async def get_default(config: Config, facade: str, **options: Any) -> Any:
    """Get the default namespace, which every cluster has."""
    async with connected(config, facade, **options) as client:
        return await client.core_v1.namespaces().get("default")


async def refused(config: Config, facade: str, server: Server, **options: Any) -> tuple[MastheadError, int]:
    """Return the error, and how many requests the server received."""
    before = len(server.requests)
    with pytest.raises(MastheadError) as caught:
        await get_default(config, facade, **options)
    return caught.value, len(server.requests) - before


@pytest.mark.parametrize("user", [{"token": TOKEN}, {"username": "me", "password": TOKEN}], ids=["bearer", "basic"])
async def test_a_token_or_a_password_authenticates(
    server: Server, tmp_path: Path, facade: str, user: dict[str, str]
) -> None:
    found = await get_default(of(server, tmp_path, user), facade)

    assert found.metadata.name == "default"


async def test_a_token_file_beside_the_kubeconfig_authenticates(server: Server, tmp_path: Path, facade: str) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")

    found = await get_default(of(server, tmp_path, {"tokenFile": "token"}), facade)

    assert found.metadata.name == "default"


async def test_a_kubeconfig_is_all_that_a_client_needs(server: Server, tmp_path: Path, facade: str) -> None:
    path = server.write_kubeconfig(tmp_path / "config")
    no_config: Any = None

    found = await get_default(no_config, facade, kubeconfig=path, context="masthead")

    assert found.metadata.name == "default"


async def test_a_rejected_token_is_sent_once_and_never_omitted(server: Server, tmp_path: Path, facade: str) -> None:
    error, requests = await refused(of(server, tmp_path, {"token": WRONG}), facade, server)

    assert isinstance(error, UnauthorizedError)
    assert "Renew the credentials" in str(error)
    assert requests == 1


async def test_an_anonymous_user_may_do_little(server: Server, tmp_path: Path, facade: str) -> None:
    error, _ = await refused(of(server, tmp_path, {}), facade, server)

    assert isinstance(error, ForbiddenError)
    assert "system:anonymous" in str(error)


async def test_with_a_missing_token_file_nothing_is_sent(server: Server, tmp_path: Path, facade: str) -> None:
    error, requests = await refused(of(server, tmp_path, {"tokenFile": "absent"}), facade, server)

    assert isinstance(error, AuthError)
    assert str(tmp_path / "absent") in str(error)
    assert requests == 0


async def test_a_pod_finds_its_own_server(server: Server, tmp_path: Path, facade: str) -> None:
    host, _, port = server.url.removeprefix("https://").partition(":")
    for name, content in {"token": TOKEN, "ca.crt": server.ca, "namespace": "shop"}.items():
        (tmp_path / name).write_text(content)
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    async with connected(in_cluster(environ, tmp_path), facade) as client:
        assert (await client.core_v1.namespaces().get("default")).metadata.name == "default"
        assert client.namespace == "shop"


@pytest.mark.parametrize("kept", ["files", "data"])
async def test_a_client_certificate_is_sent(gate: Gate, tmp_path: Path, facade: str, kept: str) -> None:
    pair = gate.pair("alice")
    (tmp_path / "alice.crt").write_text(pair.certificate)
    (tmp_path / "alice.key").write_text(pair.key)
    user = {"client-certificate": "alice.crt", "client-key": "alice.key"}
    if kept == "data":
        user = {
            "client-certificate-data": packed(pair.certificate),
            "client-key-data": packed(pair.key),
        }
    async with serving(gate.handle, gate.context()) as guarded:
        await get_default(kubeconfig(tmp_path, guarded.secure_url, gate.trusted, user), facade)

    assert gate.users == ["alice"]


async def test_a_server_that_requires_a_client_certificate_is_reported(gate: Gate, tmp_path: Path, facade: str) -> None:
    async with serving(gate.shut) as guarded:
        config = kubeconfig(tmp_path, guarded.secure_url, gate.trusted, {"token": TOKEN})
        with pytest.raises(TransportError, match="does not accept our client certificate, or requires one"):
            await get_default(config, facade, attempts=1)

    assert not gate.seen


async def test_nothing_is_sent_to_an_untrusted_server(gate: Gate, tmp_path: Path, facade: str) -> None:
    async with serving(gate.handle, gate.context(optional=True)) as guarded:
        config = kubeconfig(tmp_path, guarded.secure_url, Gate().trusted, {"token": TOKEN})
        with pytest.raises(TransportError, match="signed by an authority that is not trusted; set certificate-auth"):
            await get_default(config, facade, attempts=1)

    assert not gate.seen


async def test_another_user_can_be_impersonated(gate: Gate, tmp_path: Path, facade: str) -> None:
    user = {
        "token": TOKEN,
        "as": "bob",
        "as-uid": "17",
        "as-groups": ["ops", "dev"],
        "as-user-extra": {"example.com/scope": ["read"]},
    }
    async with serving(gate.handle, gate.context(optional=True)) as guarded:
        await get_default(kubeconfig(tmp_path, guarded.secure_url, gate.trusted, user), facade)

    (seen,) = gate.seen
    assert [pair for pair in seen.pairs if pair[0].startswith("impersonate-")] == [
        ("impersonate-user", "bob"),
        ("impersonate-uid", "17"),
        ("impersonate-group", "ops"),
        ("impersonate-group", "dev"),
        ("impersonate-extra-example.com%2fscope", "read"),
    ]
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("whom", "headers"),
    [
        ("bob", [("impersonate-user", "bob")]),
        (
            Impersonation(user="bob", groups=["ops"]),
            [("impersonate-user", "bob"), ("impersonate-group", "ops")],
        ),
    ],
    ids=["name", "value"],
)
@pytest.mark.parametrize("is_config", [True, False], ids=["config", "kubeconfig"])
async def test_a_client_can_impersonate(
    gate: Gate, tmp_path: Path, facade: str, whom: Any, headers: list[Any], *, is_config: bool
) -> None:
    async with serving(gate.handle, gate.context(optional=True)) as guarded:
        user = {"token": TOKEN, "as": "alice", "as-groups": ["dev"]}
        config: Any = kubeconfig(tmp_path, guarded.secure_url, gate.trusted, user)
        options: dict[str, Any] = {"impersonate": whom}
        if not is_config:
            config, options["kubeconfig"] = None, tmp_path / "kubeconfig.yaml"
        await get_default(config, facade, **options)

    (seen,) = gate.seen
    assert [pair for pair in seen.pairs if pair[0].startswith("impersonate-")] == headers


async def test_a_client_takes_a_kubeconfig_as_plain_data(server: Server, facade: str) -> None:
    (data,) = yaml.load_all(server.kubeconfig())
    no_config: Any = None

    async with connected(no_config, facade, kubeconfig=data, namespace="shop") as client:
        assert (await client.core_v1.namespaces().get("default")).metadata.name == "default"
        assert client.namespace == client.config.namespace == "shop"


def test_invalid_arguments_are_named(facade: str) -> None:
    whom: Any = {"user": "bob"}
    nowhere = Config(server="https://127.0.0.1:1")
    with pytest.raises(ConfigError, match=r"impersonate is of type dict; give a user's name, or masthead"):
        connected(nowhere, facade, impersonate=whom)
    with pytest.raises(NameFormatError, match="'No Such'"):
        connected(nowhere, facade, namespace="No Such")


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_an_exec_plugin_gets_its_input_and_returns_a_token(
    server: Server, tmp_path: Path, facade: str, version: str
) -> None:
    program = Program(
        tmp_path,
        "with open(os.path.join(here, 'info'), 'w') as file: json.dump([info, os.environ['HINT']], file)\ngive()",
    )
    program.gives(token=TOKEN)
    user = running(program, version=version, provideClusterInfo=True, env=[{"name": "HINT", "value": "x"}])

    assert (await get_default(of(server, tmp_path, user), facade)).metadata.name == "default"

    info, hint = json.loads((tmp_path / "info").read_text())
    assert (info["apiVersion"], info["kind"], hint) == (version, "ExecCredential", "x")
    assert info["spec"]["interactive"] is False
    assert info["spec"]["cluster"]["server"] == server.url


async def test_an_exec_plugin_may_return_a_certificate(gate: Gate, tmp_path: Path, facade: str) -> None:
    program = Program(tmp_path).gives(**gate.pair("carol").as_status())
    async with serving(gate.handle, gate.context()) as guarded:
        await get_default(kubeconfig(tmp_path, guarded.secure_url, gate.trusted, running(program)), facade)

    assert gate.users == ["carol"]
    assert "authorization" not in gate.seen[0].headers


async def test_concurrent_calls_share_one_run_of_the_exec_plugin(server: Server, tmp_path: Path, facade: str) -> None:
    program = Program(tmp_path).gives(token=TOKEN)
    async with connected(of(server, tmp_path, running(program)), facade) as client:
        namespaces = client.core_v1.namespaces()
        await asyncio.gather(*(namespaces.get("default") for _ in range(12)))
        await namespaces.get("default")

    assert program.runs == 1


@pytest.mark.parametrize(
    ("first", "runs"),
    [("2001-01-01T00:00:00Z", 2), ("2999-01-01T00:00:00Z", 1), ("2999-01-01T00:00:00.123456789+02:00", 1)],
)
async def test_an_exec_plugin_runs_again_once_its_credential_has_expired(
    server: Server, tmp_path: Path, facade: str, first: str, runs: int
) -> None:
    expires = f"{first!r} if run == 1 else '2999-01-01T00:00:00Z'"
    program = Program(tmp_path, f"reply(token={TOKEN!r}, expirationTimestamp={expires})")
    async with connected(of(server, tmp_path, running(program)), facade) as client:
        for _ in range(3):
            await client.core_v1.namespaces().get("default")

    assert program.runs == runs


async def test_an_exec_plugin_runs_again_when_the_server_rejects_its_credential(
    server: Server, tmp_path: Path, facade: str
) -> None:
    program = Program(tmp_path, f"reply(token={WRONG!r} if run == 1 else {TOKEN!r})")

    found = await get_default(of(server, tmp_path, running(program)), facade)

    assert found.metadata.name == "default"
    assert program.runs == 2


async def test_an_exec_plugin_that_repeats_a_rejected_token_is_not_run_forever(
    server: Server, tmp_path: Path, facade: str
) -> None:
    program = Program(tmp_path).gives(token=WRONG)

    error, requests = await refused(of(server, tmp_path, running(program)), facade, server)

    assert isinstance(error, UnauthorizedError)
    assert (program.runs, requests) == (2, 1)


FAILING = {
    "fails": ("sys.exit('log in first')", "failed with exit code 1; stderr: log in first"),
    "dies": ("os.kill(os.getpid(), 9)", "failed with signal 9"),
    "prints nothing": ("", "printed"),
    "talks rubbish": ("print('hello')", "did not print"),
    "gives no credential": ("reply()", "neither"),
    "gives half a certificate": ("reply(clientCertificateData='x')", "without its key"),
    "gives an empty token": ("reply(token='')", ""),
    "speaks another version": ("reply(version='client.authentication.k8s.io/v7', token='x')", "v7"),
    "gives another kind": ("reply(kind='Pod', token='x')", "Pod"),
    "hangs": ("import signal; signal.pause()", "did not finish within 0.3 s, and was killed"),
}


@pytest.mark.parametrize(("body", "expected"), FAILING.values(), ids=FAILING.keys())
async def test_without_the_exec_plugins_credential_nothing_is_sent(
    server: Server,
    tmp_path: Path,
    facade: str,
    body: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A failure that is logged and swallowed turns into anonymous requests and puzzling rejections."""
    if "pause" in body:
        monkeypatch.setattr(renewed_credentials, "ExecPlugin", partial(ExecPlugin, timeout=0.3))
    user = running(Program(tmp_path, body))

    error, requests = await refused(of(server, tmp_path, user), facade, server)

    assert type(error) is AuthError
    assert "exec plugin" in str(error)
    assert expected in str(error)
    assert requests == 0


async def test_a_missing_exec_plugin_is_reported_with_its_install_hint(
    server: Server, tmp_path: Path, facade: str
) -> None:
    user = {
        "exec": {
            "apiVersion": V1,
            "command": "./absent",
            "installHint": "Get it.",
            "interactiveMode": "Never",
        }
    }

    error, requests = await refused(of(server, tmp_path, user), facade, server)

    assert type(error) is AuthError
    assert "Get it." in str(error)
    assert requests == 0


async def test_closing_the_client_ends_a_program_that_hangs(server: Server, tmp_path: Path, facade: str) -> None:
    async with Line() as line:
        program = Program(tmp_path, f"hang({line.port})")
        client = connected(of(server, tmp_path, running(program)), facade)
        before = len(server.requests)

        async def get_until_closed() -> None:
            with pytest.raises((ClosedError, asyncio.CancelledError)):
                await client.core_v1.namespaces().get("default")

        async with asyncio.TaskGroup() as group:
            task = group.create_task(get_until_closed())
            call = await line.called()
            if facade == "aio":
                task.cancel()
            await client.close()

        assert await call.is_gone()
        assert len(server.requests) == before


async def test_keys_leave_no_files_behind(
    gate: Gate, tmp_path: Path, facade: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each login that writes its key to a temporary file, and forgets it there, leaves a key for everybody."""
    home = tmp_path / "temporary"
    home.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    monkeypatch.setenv("TMPDIR", str(home))
    program = Program(tmp_path).gives(**gate.pair("dave").as_status(), expirationTimestamp="2001-01-01T00:00:00Z")
    async with serving(gate.handle, gate.context()) as guarded:
        config = kubeconfig(tmp_path, guarded.secure_url, gate.trusted, running(program))
        async with connected(config, facade) as client:
            for _ in range(3):
                await client.core_v1.namespaces().get("default")
                assert list(home.iterdir()) == []

    assert list(home.iterdir()) == []


def all_text(error: BaseException, *others: object) -> str:
    return "".join(traceback.format_exception(error)) + "".join(f"{other!r} {other}" for other in others)


SHY: dict[str, dict[str, Any]] = {
    "token": {"token": WRONG},
    "password": {"username": "me", "password": WRONG},
    "program": {"exec": {}},
}


@pytest.mark.parametrize("user", SHY.values(), ids=SHY.keys())
async def test_secrets_are_hidden(
    server: Server, tmp_path: Path, facade: str, user: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    if "exec" in user:
        user = running(Program(tmp_path).gives(token=WRONG))
    config = of(server, tmp_path, user)
    async with connected(config, facade) as client:
        namespaces = client.core_v1.namespaces()
        with pytest.raises(MastheadError) as caught:
            await namespaces.get("default")
        text = all_text(caught.value, config, client, namespaces)

    assert WRONG not in text + caplog.text
    assert "default" in text


class RenewedToken:
    """Credentials of a program's own: a token that the server rejects, until it is renewed."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = [*tokens]
        self.renewals = 0

    async def authorization(self) -> Secret:
        if not self._tokens:
            raise AuthError("the vault is sealed")
        return Secret(f"Bearer {self._tokens[0]}")

    async def certificate(self) -> Certificate | None:
        return None

    async def renew(self, refused: Secret) -> bool:
        self.renewals += 1
        assert refused.reveal() == f"Bearer {self._tokens.pop(0)}"
        return True


async def test_credentials_of_a_program_replace_those_of_the_configuration(
    server: Server, tmp_path: Path, facade: str
) -> None:
    config = of(server, tmp_path, {"token": WRONG})

    found = await get_default(config, facade, credentials=RenewedToken(TOKEN))

    assert found.metadata.name == "default"


async def test_credentials_of_a_program_are_renewed_after_a_rejection(
    server: Server, tmp_path: Path, facade: str
) -> None:
    credentials = RenewedToken(WRONG, TOKEN)

    found = await get_default(of(server, tmp_path, {}), facade, credentials=credentials)

    assert (found.metadata.name, credentials.renewals) == ("default", 1)


async def test_nothing_is_sent_if_credentials_of_a_program_fail(server: Server, tmp_path: Path, facade: str) -> None:
    error, sent = await refused(of(server, tmp_path, {}), facade, server, credentials=RenewedToken())

    assert isinstance(error, AuthError)
    assert "the vault is sealed" in str(error)
    assert sent == 0


async def test_a_header_cannot_be_injected_by_credentials_of_a_program(
    server: Server, tmp_path: Path, facade: str
) -> None:
    error, sent = await refused(
        of(server, tmp_path, {}), facade, server, credentials=RenewedToken(f"{TOKEN}\r\nX-More: yes")
    )

    assert "it holds a line break" in str(error)
    assert TOKEN not in str(error)
    assert sent == 0


@pytest.mark.parametrize("client", [masthead.Client, masthead.aio.Client])
def test_credentials_of_a_program_are_not_sent_in_plain_text_over_a_network(client: Any) -> None:
    with pytest.raises(ConfigError, match="anyone on the network could read the credentials"):
        client(Config(server="http://10.0.0.1:8080"), credentials=RenewedToken(TOKEN))


@pytest.mark.parametrize("client", [masthead.Client, masthead.aio.Client])
def test_credentials_that_lack_a_method_are_refused(client: Any) -> None:
    with pytest.raises(ArgumentError, match=r"of type str, which lacks a method of masthead\.auth\.Credentials"):
        client(Config(server="https://10.0.0.1:8080"), credentials=TOKEN)
