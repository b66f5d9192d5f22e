"""Building a client from a configuration: credentials and connection."""

from __future__ import annotations

import json
import os
import ssl
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest
import trustme
from tests.unit.auth.plugins import V1, Program
from tests.unit.auth.test_oidc import jwt
from tests.unit.transport.servers import ReceivedRequest, always, http_response, join, receive, serving

import masthead.server
from masthead._auth.exec import ExecPlugin
from masthead._auth.oidc import OidcToken
from masthead._auth.tokens import AnonymousCredentials, BasicAuth, BearerToken, TokenFile
from masthead._rest.connect import connect, credentials_of
from masthead._rest.settings import RestSettings
from masthead.config import Config, ExecConfig, Impersonation, OidcConfig
from masthead.errors import AuthError, ConfigError, ConnectError, MastheadError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.unit.transport.servers import Handler

    from masthead._rest.client import RestClient

OK = http_response(b"{}", "Content-Type: application/json")


@asynccontextmanager
async def client_of(config: Config) -> AsyncIterator[RestClient]:
    made = connect(config, RestSettings(attempts=1), connections=4)
    try:
        yield made
    finally:
        await made.close()


def exec_config(program: Program, **more: object) -> ExecConfig:
    settings = {"api_version": V1, "interactive_mode": "Never", **more}
    return ExecConfig(command=sys.executable, args=("-IS", str(program.script)), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, AnonymousCredentials),
        ({"token": "t"}, BearerToken),
        ({"token": "t", "token_file": "f"}, TokenFile),
        ({"username": "u", "password": "p"}, BasicAuth),
        ({"exec": ExecConfig(command="x")}, ExecPlugin),
        ({"exec": ExecConfig(command="x"), "token": "t"}, BearerToken),
        ({"exec": ExecConfig(command="x"), "username": "u"}, BasicAuth),
        ({"oidc": OidcConfig(issuer="https://i", client_id="c")}, OidcToken),
        ({"oidc": OidcConfig(issuer="https://i", client_id="c"), "token": "t"}, BearerToken),
    ],
)
def test_static_credentials_take_precedence_over_plugins(given: dict[str, object], kind: type[object]) -> None:
    assert type(credentials_of(Config(server="https://x", **given))) is kind  # type: ignore[arg-type]


def test_an_exec_plugin_is_not_run_when_a_client_certificate_is_configured() -> None:
    both = {
        "exec": ExecConfig(command="x"),
        "client_certificate_data": "c",
        "client_key_data": "k",
    }
    assert type(credentials_of(Config(server="https://x", **both))) is AnonymousCredentials  # type: ignore[arg-type]
    # Without TLS there is no showing certificates.
    assert type(credentials_of(Config(server="http://127.0.0.1", **both))) is ExecPlugin  # type: ignore[arg-type]


async def test_a_token_in_a_file_is_read_again_when_the_server_refuses_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    async with masthead.server.run(token="new") as server:
        config = Config(server=server.url, token_file=file, token="fallback")
        async with client_of(config) as rest:
            with pytest.raises(MastheadError):
                await rest.get("/version?first")
            file.write_text("new\n")
            await rest.get("/version?second")
        assert [(seen.query, seen.code) for seen in server.requests] == [
            ("first=", 401),
            ("second=", 401),
            ("second=", 200),
        ]


async def test_nothing_is_sent_when_credentials_are_unavailable(tmp_path: Path) -> None:
    program = Program(tmp_path, "sys.exit('please log in')")
    ended = jwt("id", datetime(2020, 1, 1, tzinfo=UTC))
    credentials: list[dict[str, object]] = [
        {"exec": exec_config(program)},
        {"token_file": tmp_path / "missing"},
        {"oidc": OidcConfig(issuer="https://127.0.0.1:1", client_id="c", id_token=ended)},
        {"oidc": OidcConfig(issuer="https://127.0.0.1:1", client_id="c", refresh_token="r")},
    ]
    async with masthead.server.run(token=None) as server:
        for credential in credentials:
            async with client_of(Config(server=server.url, **credential)) as rest:  # type: ignore[arg-type]
                with pytest.raises(AuthError):
                    await rest.get("/version")
        assert not list(server.requests)


async def test_an_exec_plugin_gets_cluster_info_on_request(tmp_path: Path) -> None:
    written = tmp_path / "written"
    program = Program(tmp_path, f"open({str(written)!r}, 'w').write(json.dumps(info)); reply(token='t')")
    ca = tmp_path / "ca.crt"
    ca.write_text("PEM")
    plugin = exec_config(program, provide_cluster_info=True, cluster_config={"audience": "x"})
    config = Config(server="https://a:1", ca_file=ca, tls_server_name="b", exec=plugin)
    assert (await credentials_of(config).authorization()).reveal() == "Bearer t"
    assert json.loads(written.read_text())["spec"] == {
        "interactive": False,
        "cluster": {
            "server": "https://a:1",
            "tls-server-name": "b",
            "certificate-authority-data": "UEVN",
            "config": {"audience": "x"},
        },
    }


def test_an_unreadable_ca_certificate_for_an_exec_plugin_is_named(tmp_path: Path) -> None:
    program = Program(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff")
    for file in ("missing", "binary"):
        config = Config(
            server="https://a", ca_file=tmp_path / file, exec=exec_config(program, provide_cluster_info=True)
        )
        with pytest.raises(ConfigError, match=f"the CA certificate .*{file} cannot be read: "):
            connect(config, RestSettings(), connections=1)


async def test_impersonation_headers_are_sent_with_every_call() -> None:
    whom = Impersonation(user="alice", groups=["a"], extra={"acme.com/x": ("1",)})
    async with masthead.server.run() as server:
        async with client_of(Config(server=server.url, token=server.token or "", impersonate=whom)) as rest:
            await rest.get("/version")
        [seen] = server.requests
        assert seen.headers["impersonate-user"] == "alice"
        assert seen.headers["impersonate-group"] == "a"
        assert seen.headers["impersonate-extra-acme.com%2fx"] == "1"


async def test_tls_uses_the_certificates_of_the_configuration(tmp_path: Path) -> None:
    ours, theirs = trustme.CA(), trustme.CA()
    me = ours.issue_cert("me@example.com")
    context = _server_context(ours)
    context.verify_mode = ssl.CERT_REQUIRED
    ours.configure_trust(context)
    pem = ours.cert_pem.bytes().decode()
    certificate = me.cert_chain_pems[0].bytes().decode()
    key = me.private_key_pem.bytes().decode()
    async with serving(always(OK), context) as served:
        good = Config(
            server=served.secure_url.replace("https", "HTTPS"),
            ca_data=pem,
            client_certificate_data=certificate,
            client_key_data=key,
        )
        async with client_of(good) as rest:
            assert (await rest.get("/version")).status == 200
        async with client_of(Config(server=served.secure_url, ca_data=theirs.cert_pem.bytes().decode())) as rest:
            with pytest.raises(ConnectError, match="an authority that is not trusted"):
                await rest.get("/version")
        broken = tmp_path / "broken"
        broken.write_text("no certificate")
        before = served.connections
        bad = Config(server=served.secure_url, ca_data=pem, client_certificate_file=broken, client_key_data=key)
        async with client_of(bad) as rest:
            with pytest.raises(AuthError, match="client certificate"):
                await rest.get("/version")
        assert served.connections == before


@pytest.mark.parametrize("through_proxy", [False, True])
async def test_an_oidc_issuer_is_called_over_tls_and_its_tokens_are_written_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, through_proxy: bool
) -> None:
    for name in [each for each in os.environ if each.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    authority = trustme.CA()
    fresh = jwt("fresh", datetime.now(UTC) + timedelta(hours=1))
    host = "issuer.test" if through_proxy else "127.0.0.1"
    tunnels: list[ReceivedRequest] = []
    seen: list[ReceivedRequest] = []
    async with (
        serving(_issuer(host, fresh, seen), _server_context(authority, host)) as issuer,
        serving(_proxy(issuer.port, tunnels)) as proxy,
        masthead.server.run(token=fresh) as server,
    ):
        if through_proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig()))
        oidc = OidcConfig(
            issuer=f"https://{host}:{issuer.port}",
            client_id="c",
            refresh_token="refresh-22",
            ca_data=authority.cert_pem.bytes().decode(),
            kubeconfig=kubeconfig,
            user="me",
        )
        async with client_of(Config(server=server.url, oidc=oidc)) as rest:
            assert (await rest.get("/version")).status == 200
    assert [each.line.split()[0] for each in seen] == ["GET", "POST"]
    assert parse_qs(seen[1].body.decode())["refresh_token"] == ["refresh-22"]
    assert len(tunnels) == (2 if through_proxy else 0)
    assert fresh in kubeconfig.read_text()


def _server_context(authority: trustme.CA, host: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context


def _issuer(host: str, token: str, seen: list[ReceivedRequest]) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        seen.append(request)
        port = writer.get_extra_info("sockname")[1]
        reply: dict[str, object] = {"id_token": token}
        if request.line.startswith("GET /.well-known/openid-configuration"):
            issuer = f"https://{host}:{port}"
            reply = {"issuer": issuer, "token_endpoint": f"{issuer}/token?x=1"}
        writer.write(http_response(json.dumps(reply).encode(), "Content-Type: application/json"))
        await writer.drain()

    return handle


def _proxy(port: int, tunnels: list[ReceivedRequest]) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        assert request.line == f"CONNECT issuer.test:{port} HTTP/1.1"
        tunnels.append(request)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await join(reader, writer, "127.0.0.1", port)

    return handle


def _kubeconfig() -> dict[str, object]:
    provider = {"name": "oidc", "config": {"refresh-token": "refresh-22"}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "users": [{"name": "me", "user": {"auth-provider": provider}}],
    }
