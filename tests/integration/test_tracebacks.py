"""No credential shows in an error: not in its text, nor in the variables of any frame, nor in a log line.

Each test provokes one way to fail, and looks at all that a tool which captures variables would show of it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import struct
import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from tests.integration.captured import leaks
from tests.unit.auth.plugins import Line
from tests.unit.transport.servers import (
    CertificateAuthority,
    always,
    chunk,
    http_response,
    never,
    once,
    receive,
    serving,
)

import masthead
from masthead._auth.oidc import OidcToken
from masthead._auth.tokens import BearerToken
from masthead._client.client import Client
from masthead._config.files import MAX_SIZE
from masthead._meta.secret import Secret, SecretValue
from masthead._meta.unstructured import Unstructured
from masthead._rest.call import Call, Subject
from masthead._rest.client import RestClient
from masthead._rest.connect import connect, credentials_of
from masthead._rest.settings import RestSettings
from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead.config import Config, ExecConfig, OidcConfig, from_kubeconfig, load, write_user_tokens
from masthead.errors import (
    ArgumentError,
    AuthError,
    ClosedError,
    ConfigError,
    MastheadError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

SECRET = "LEAK-4f1c9b"
PAIR = base64.b64encode(f"user:{SECRET}".encode()).decode()
MARKS = ("LEAK-4f1c9b", PAIR[:16])
JSON = "Content-Type: application/json"
QUICK = RestSettings(attempts=1)
NOT_WAITING = RestSettings(attempts=1, timeout=0.2)
VERSION = http_response(b'{"gitVersion":"v1.36.4"}', JSON)

CREDENTIALS: dict[str, dict[str, Any]] = {
    "token": {"token": SECRET},
    "password": {"username": "user", "password": SECRET},
}


@pytest.fixture(autouse=True)
def _logs_are_clean(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level("DEBUG")
    yield
    for record in caplog.get_records("call"):
        shown = f"{record.getMessage()} {record.args!r}"
        assert not any(mark in shown for mark in MARKS), shown
        if record.exc_info and record.exc_info[1]:
            assert leaks(record.exc_info[1], *MARKS) == []


@pytest.fixture(params=list(CREDENTIALS))
def who(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = CREDENTIALS[request.param]
    return found


@asynccontextmanager
async def client_of(config: Config, settings: RestSettings = QUICK) -> AsyncIterator[RestClient]:
    made = connect(config, settings, connections=4)
    try:
        yield made
    finally:
        await made.close()


async def error_of(rest: RestClient, path: str = "/version", **more: Any) -> BaseException:
    with pytest.raises(MastheadError) as caught:
        await rest.get(path, **more)
    return caught.value


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


# ---------------------------------------------------------------------------------------------------------
# The walker itself


def test_a_secret_in_a_frame_would_be_found() -> None:
    namespace: dict[str, object] = {}
    exec(  # a frame that is not a test's
        compile("def fail(header):\n    raise ValueError('no')\n", "elsewhere.py", "exec"), namespace
    )
    with pytest.raises(ValueError, match="no") as caught:
        namespace["fail"]({"Authorization": [f"Bearer {SECRET}"]})  # type: ignore[operator]
    assert leaks(caught.value, *MARKS)


# ---------------------------------------------------------------------------------------------------------
# Connections and responses


async def test_a_refused_connection(who: dict[str, Any]) -> None:
    config = Config(server=f"http://127.0.0.1:{free_port()}", **who)
    async with client_of(config) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


async def test_a_refused_connection_after_repetitions() -> None:
    config = Config(server=f"http://127.0.0.1:{free_port()}", token=SECRET)
    async with client_of(config, RestSettings(attempts=2, timeout=30)) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


async def test_a_connection_that_takes_too_long() -> None:
    async with serving(never) as served:
        transport = HttpTransport(served.secure_url, tls=CertificateAuthority().client(), connect_timeout=0.1)
        rest = RestClient(transport, BearerToken(Secret(SECRET)), settings=QUICK)
        assert leaks(await error_of(rest), *MARKS) == []
        await rest.close()


async def test_a_certificate_that_is_not_trusted(who: dict[str, Any]) -> None:
    async with (
        serving(never, CertificateAuthority().server()) as served,
        client_of(Config(server=served.secure_url, **who)) as rest,
    ):
        assert leaks(await error_of(rest), *MARKS) == []


async def test_tls_to_a_plain_port() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with serving(talk) as served, client_of(Config(server=served.secure_url, token=SECRET)) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


async def test_no_response_in_time(who: dict[str, Any]) -> None:
    async with serving(never) as served, client_of(Config(server=served.url, **who), NOT_WAITING) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


BAD_RESPONSES = {
    "garbage": b"\x00\x01 not HTTP at all\r\n\r\n",
    "nothing": b"",
    "cut short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab",
    "an endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
    "not gzip": http_response(b"plain", "Content-Encoding: gzip"),
    "another encoding": http_response(b"plain", "Content-Encoding: br"),
    "a page": http_response(b"<html><title>Login</title>", "Content-Type: text/html"),
    "empty": http_response(b"", JSON),
    "a redirect": http_response(b"", "Location: https://elsewhere.example/", status="302 Found"),
    "forbidden": http_response(b'{"kind":"Status","status":"Failure","code":403}', JSON, status="403 Forbidden"),
    "too many": http_response(b"", "Retry-After: 1", status="429 Too Many Requests"),
}


@pytest.mark.parametrize("bad", list(BAD_RESPONSES))
async def test_a_bad_response(bad: str, who: dict[str, Any]) -> None:
    async with (
        serving(once(BAD_RESPONSES[bad])) as served,
        client_of(Config(server=served.url, **who)) as rest,
    ):
        assert leaks(await error_of(rest), *MARKS) == []


async def test_a_kept_connection_that_is_dead() -> None:
    async def respond_once_then_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(VERSION)
        await receive(reader)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async with (
        serving(respond_once_then_close) as served,
        client_of(Config(server=served.url, token=SECRET)) as rest,
    ):
        await rest.get("/version")
        with pytest.raises(TransportError) as caught:
            await rest.post("/version", b"{}")
    assert leaks(caught.value, *MARKS) == []


@pytest.mark.parametrize("secure", [False, True])
async def test_cancellation(secure: bool, who: dict[str, Any]) -> None:
    arrived = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        arrived.set()
        await never(reader, writer)

    authority = CertificateAuthority()
    async with serving(hang, authority.server() if secure else None) as served:
        config = Config(server=served.secure_url if secure else served.url, insecure=secure, **who)
        async with client_of(config) as rest:
            task = asyncio.get_running_loop().create_task(rest.get("/version"))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
    assert leaks(caught.value, *MARKS) == []


async def test_cancellation_while_connecting() -> None:
    arrived = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await never(reader, writer)

    async with serving(hang) as served, client_of(Config(server=served.secure_url, token=SECRET)) as rest:
        task = asyncio.get_running_loop().create_task(rest.get("/version"))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
    assert leaks(caught.value, *MARKS) == []


async def test_a_closed_client(who: dict[str, Any]) -> None:
    rest = connect(Config(server="http://127.0.0.1:1", **who), QUICK, connections=4)
    await rest.close()
    assert leaks(await error_of(rest), *MARKS) == []


async def test_a_client_that_is_closed_meanwhile() -> None:
    arrived = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        arrived.set()
        await never(reader, writer)

    async with serving(hang) as served:
        rest = connect(Config(server=served.url, token=SECRET), QUICK, connections=4)
        task = asyncio.get_running_loop().create_task(rest.get("/version"))
        await arrived.wait()
        await rest.close()
        with pytest.raises(ClosedError) as caught:
            await task
    assert leaks(caught.value, *MARKS) == []


BAD_HEADERS: list[dict[str, str | Secret]] = [
    {"Transfer-Encoding ": "chunked"},
    {"X\r\nY": "z"},
    {"": "z"},
    {"X:": "z"},
    {"X": "a\r\nY: b"},
    {"X": "a\x00"},
    {"X": "\udcff"},
    {"Content-Length": "5"},
    {"Authorization": Secret(f"Bearer {SECRET}\n")},
    {"X-Other": "z", "Authorization": Secret(f"Bearer {SECRET}\udcff")},
]


@pytest.mark.parametrize("headers", BAD_HEADERS, ids=repr)
async def test_a_header_that_cannot_be_sent(headers: dict[str, str | Secret], who: dict[str, Any]) -> None:
    async with client_of(Config(server="http://127.0.0.1:1", **who)) as rest:
        error = await error_of(rest, headers=headers)
    assert isinstance(error, ArgumentError)
    assert leaks(error, *MARKS) == []


# ---------------------------------------------------------------------------------------------------------
# Credentials that are refused, or cannot be had

REFUSED = http_response(b'{"kind":"Status","status":"Failure","code":401}', JSON, status="401 Unauthorized")


async def test_a_token_file_that_is_refused_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(SECRET)
    async with (
        serving(always(REFUSED)) as served,
        client_of(Config(server=served.url, token_file=path)) as rest,
    ):
        assert leaks(await error_of(rest), *MARKS) == []


@pytest.mark.parametrize("content", [b"", b" \n", f"{SECRET}\xff".encode("latin-1"), f"{SECRET} and more".encode()])
async def test_a_token_file_that_cannot_be_used(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    async with client_of(Config(server="http://127.0.0.1:1", token_file=path)) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


async def test_a_token_file_that_is_far_too_long(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(SECRET + "x" * 2**20)
    async with client_of(Config(server="http://127.0.0.1:1", token_file=path)) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


def plugin(tmp_path: Path, body: str, **more: Any) -> Config:
    script = tmp_path / "plugin.py"
    script.write_text(f"import json, os, sys, time\nsecret = os.environ['PLUGIN_SECRET']\n{body}\n")
    exec_ = ExecConfig(
        command=sys.executable,
        args=["-IS", str(script), SECRET, f"--password={SECRET}"],
        env={"PLUGIN_SECRET": SECRET},
        interactive_mode="Never",
        provide_cluster_info=True,
        **more,
    )
    # A proxy whose password the program is given.
    return Config(server="http://127.0.0.1:1", exec=exec_, proxy_url=f"http://user:{SECRET}@127.0.0.1:1")


PLUGINS = {
    "fails": "print(secret, sys.argv, os.environ['KUBERNETES_EXEC_INFO'], file=sys.stderr); sys.exit(3)",
    "prints nothing": "",
    "prints no JSON": "print(secret)",
    "prints no UTF-8": "sys.stdout.buffer.write(secret.encode() + b'\\xff')",
    "prints another kind": "print(json.dumps({'kind': 'Other', 'token': secret}))",
    "prints a list": "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',"
    " 'status': [secret]}))",
    "prints a token with a blank": "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',"
    " 'kind': 'ExecCredential', 'status': {'token': secret + ' x'}}))",
    "prints a bad time": "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',"
    " 'kind': 'ExecCredential', 'status': {'token': secret, 'expirationTimestamp': 'soon'}}))",
    "prints a bad key": "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',"
    " 'status': {'clientCertificateData': 'x', 'clientKeyData': secret}}))",
    "prints without end": "\nwhile True: print(secret * 1000)",
}


HANGS = """
import socket
held = socket.create_connection(("127.0.0.1", {port}))
held.sendall(b"here")
held.recv(1)
"""


@pytest.mark.parametrize("how", list(PLUGINS))
async def test_a_plugin_that_fails(how: str, tmp_path: Path) -> None:
    async with client_of(plugin(tmp_path, PLUGINS[how])) as rest:
        error = await error_of(rest)
    assert isinstance(error, AuthError)
    assert leaks(error, *MARKS) == []


async def test_a_plugin_whose_token_is_refused_for_ever(tmp_path: Path) -> None:
    gives = (
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',"
        " 'status': {'token': secret}}))"
    )
    async with serving(always(REFUSED)) as served:
        config = Config(server=served.url, exec=plugin(tmp_path, gives).exec)
        async with client_of(config) as rest:
            assert leaks(await error_of(rest), *MARKS) == []


async def test_a_plugin_that_hangs_and_is_cancelled(tmp_path: Path) -> None:
    async with Line() as line, client_of(plugin(tmp_path, HANGS.format(port=line.port))) as rest:
        task = asyncio.get_running_loop().create_task(rest.get("/version"))
        call = await line.called()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert await call.is_gone()
    assert leaks(caught.value, *MARKS) == []


@pytest.mark.parametrize("argument", ["\0", "\udcff\udfff"])
async def test_a_plugin_that_cannot_be_started(argument: str) -> None:
    made = ExecConfig(command=sys.executable, args=[SECRET, argument], env={"A": SECRET}, interactive_mode="Never")
    async with client_of(Config(server="http://127.0.0.1:1", exec=made)) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


async def test_a_plugin_that_is_not_there() -> None:
    made = ExecConfig(command="no-such-plugin", args=[SECRET], env={"A": SECRET}, interactive_mode="Never")
    async with client_of(Config(server="http://127.0.0.1:1", exec=made)) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


@asynccontextmanager
async def issuer(grant: bytes, requested: asyncio.Event | None = None) -> AsyncIterator[Config]:
    """A configuration whose issuer sends this response to the token exchange; with an event, none."""
    document: dict[str, object] = {}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        if "openid-configuration" in request.line:
            writer.write(http_response(json.dumps(document).encode(), JSON))
        else:
            writer.write(grant)
            if requested is not None:
                requested.set()
                await asyncio.Event().wait()
        await writer.drain()

    async with serving(handle) as served:
        document |= {"issuer": served.url, "token_endpoint": f"{served.url}/token"}
        oidc = OidcConfig(issuer=served.url, client_id="user", client_secret=SECRET, refresh_token=SECRET)
        yield Config(server="http://127.0.0.1:1", oidc=oidc)


GRANTS = {
    "refuses": http_response(f'{{"error":"no {SECRET}"}}'.encode(), JSON, status="400 Bad Request"),
    "is broken": http_response(b"", status="500 Internal Server Error"),
    "talks rubbish": http_response(f"{SECRET}".encode(), JSON),
    "talks no UTF-8": http_response(f'{{"id_token":"{SECRET}'.encode() + b'\xff"}', JSON),
    "gives a number": http_response(f'{{"id_token":5,"refresh_token":"{SECRET}"}}'.encode(), JSON),
    "gives no id token": http_response(f'{{"refresh_token":"{SECRET}"}}'.encode(), JSON),
    "gives a token with a blank": http_response(f'{{"id_token":"{SECRET} x"}}'.encode(), JSON),
    "breaks off": b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"id_token":"' + SECRET.encode(),
    "is no HTTP": b"\0\0\0\0\r\n\r\n",
    "redirects": http_response(b"", "Location: http://127.0.0.1:1/", status="307 Temporary Redirect"),
}


@pytest.mark.parametrize("how", list(GRANTS))
async def test_an_issuer_that_fails(how: str) -> None:
    async with issuer(GRANTS[how]) as config, client_of(config) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


async def test_an_issuer_that_cannot_be_reached() -> None:
    oidc = OidcConfig(
        issuer=f"http://127.0.0.1:{free_port()}", client_id="user", client_secret=SECRET, refresh_token=SECRET
    )
    async with client_of(Config(server="http://127.0.0.1:1", oidc=oidc)) as rest:
        assert leaks(await error_of(rest), *MARKS) == []


async def test_an_issuer_that_hangs_while_the_caller_is_cancelled_twice() -> None:
    requested = asyncio.Event()
    async with issuer(b"", requested) as config, client_of(config) as rest:
        task = asyncio.get_running_loop().create_task(rest.get("/version"))
        await requested.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
    assert leaks(caught.value, *MARKS) == []


async def test_new_tokens_that_cannot_be_saved(tmp_path: Path) -> None:
    gone = tmp_path / "config"
    gone.write_text(f"users:\n- name: dev\n  user:\n    token: {SECRET}\n")
    token = f"{SECRET}.{base64.urlsafe_b64encode(b'{}').decode()}.x"
    async with issuer(http_response(f'{{"id_token":"{token}"}}'.encode(), JSON)) as config:
        assert config.oidc is not None
        oidc = OidcConfig(
            issuer=config.oidc.issuer,
            client_id="user",
            client_secret=SECRET,
            refresh_token=SECRET,
            kubeconfig=gone,
            user="dev",
        )
        credentials = credentials_of(Config(server="http://127.0.0.1:1", oidc=oidc))
        assert (await credentials.authorization()).reveal() == f"Bearer {token}"


def test_invalid_tokens() -> None:
    async def fetch(*_: object) -> tuple[int, SecretValue[bytes]]:
        raise NotImplementedError

    made = OidcToken(
        "https://issuer",
        "user",
        Secret(SECRET),
        Secret(SECRET),
        Secret(),
        fetch=fetch,
        now=lambda: datetime.now(UTC),
    )
    with pytest.raises(AuthError) as caught:
        asyncio.run(made.authorization())
    assert leaks(caught.value, *MARKS) == []


async def test_a_client_certificate_that_cannot_be_used() -> None:
    issued = trustme.CA().issue_cert("client")
    other = trustme.CA().issue_cert("client").private_key_pem.bytes().decode()
    chain = issued.cert_chain_pems[0].bytes().decode()
    mark = other.splitlines()[2]
    broken = other.replace(other.splitlines()[1], "!!!!")
    for key in (other, broken, f"LEAK {SECRET}"):
        config = Config(server="https://127.0.0.1:1", client_certificate_data=chain, client_key_data=key, token=SECRET)
        async with client_of(config) as rest:
            assert leaks(await error_of(rest), mark, *MARKS) == []


# ---------------------------------------------------------------------------------------------------------
# Proxies

PROXY_RESPONSES = {
    "refuses": http_response(b"", status="407 Proxy Authentication Required"),
    "forbids": http_response(b"", status="403 Forbidden"),
    "breaks off": b"HTTP/1.1 2",
    "talks rubbish": b"\0\0\0\0\r\n\r\n\r\n",
}


@pytest.mark.parametrize("how", list(PROXY_RESPONSES))
@pytest.mark.parametrize("server", ["https://10.255.255.1:6443", "http://127.0.0.1:1"])
async def test_an_http_proxy_that_fails(how: str, server: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(PROXY_RESPONSES[how])
        await writer.drain()

    async with serving(handle) as served:
        proxy = f"http://user:{SECRET}@127.0.0.1:{served.port}"
        async with client_of(Config(server=server, proxy_url=proxy, token=SECRET)) as rest:
            assert leaks(await error_of(rest), *MARKS) == []


async def test_a_proxy_that_cannot_be_reached() -> None:
    for scheme in ("http", "https", "socks5"):
        proxy = f"{scheme}://user:{SECRET}@127.0.0.1:{free_port()}"
        async with client_of(Config(server="https://10.255.255.1", proxy_url=proxy, token=SECRET)) as rest:
            assert leaks(await error_of(rest), *MARKS) == []


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize("server", ["https://10.255.255.1:6443", "http://127.0.0.1:1"])
async def test_a_proxy_that_hangs_while_the_caller_is_cancelled(scheme: str, server: str) -> None:
    requested = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if scheme == "socks5":
            await reader.readexactly(4)
            writer.write(b"\x05\x02")
        await reader.read(1)
        requested.set()
        await asyncio.Event().wait()

    async with serving(hang) as served:
        proxy = f"{scheme}://user:{SECRET}@127.0.0.1:{served.port}"
        async with client_of(Config(server=server, proxy_url=proxy, token=SECRET)) as rest:
            task = asyncio.get_running_loop().create_task(rest.get("/version"))
            await requested.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
    assert leaks(caught.value, *MARKS) == []


SOCKS_RESPONSES = {
    "refuses": [b"\x05\x02", b"\x01\x01"],
    "breaks off": [b"\x05\x02", b""],
    "does not speak SOCKS": [b"HTTP", b""],
}


@pytest.mark.parametrize("how", list(SOCKS_RESPONSES))
async def test_a_socks_proxy_that_fails(how: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for sent in SOCKS_RESPONSES[how]:
            await reader.read(100)
            writer.write(sent)

    async with serving(handle) as served:
        proxy = f"socks5://user:{SECRET}@127.0.0.1:{served.port}"
        async with client_of(Config(server="https://10.255.255.1", proxy_url=proxy, token=SECRET)) as rest:
            assert leaks(await error_of(rest), *MARKS) == []


@pytest.mark.parametrize("url", [f"http://user:{SECRET}@[::1", f"http://user:{SECRET}@host:99999", "ftp://x"])
def test_an_invalid_proxy_address(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpTransport("https://127.0.0.1", tls=None, proxy_url=Secret(url))
    assert leaks(caught.value, *MARKS) == []
    with pytest.raises(ConfigError) as caught:
        Config(server="https://127.0.0.1", proxy_url=url, token=SECRET)
    assert leaks(caught.value, *MARKS) == []


# ---------------------------------------------------------------------------------------------------------
# Watches, and the blocking client

LINE = b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}}\n'
HEAD = f"HTTP/1.1 200 OK\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


@pytest.mark.parametrize(
    "sent", [HEAD + chunk(LINE), HEAD + chunk(LINE[:20]), HEAD + b"zz\r\n", HEAD + chunk(b"rubbish\n"), b"x"]
)
async def test_a_stream_that_breaks(sent: bytes) -> None:
    async with serving(once(sent)) as served, client_of(Config(server=served.url, token=SECRET)) as rest:

        async def read() -> None:
            async with await rest.open(Call("GET", "/api/v1/pods", Subject("watch", "pods"))) as stream:
                async for batch in stream.batches():
                    [Unstructured.from_wire(line) for line in batch]

        with pytest.raises(MastheadError) as caught:
            await read()
    assert leaks(caught.value, *MARKS) == []


@pytest.mark.slow
async def test_a_resumed_watch_logs_no_secret() -> None:
    """The fixture above looks at the log."""
    async with (
        serving(once(HEAD + chunk(LINE))) as served,
        Client(Config(server=served.url, token=SECRET)) as client,
        client.core_v1.pods("default").watch(resource_version="1") as events,
    ):
        seen = [await anext(events) for _ in range(2)]
    assert len(seen) == 2


async def test_a_watch_that_is_cancelled() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(HEAD + chunk(LINE))
        await never(reader, writer)

    async with serving(hang) as served, Client(Config(server=served.url, token=SECRET)) as client:
        came = asyncio.Event()

        async def watch() -> None:
            async with client.core_v1.pods("default").watch(resource_version="1") as events:
                async for _ in events:
                    came.set()

        task = asyncio.get_running_loop().create_task(watch())
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
    assert leaks(caught.value, *MARKS) == []


async def test_the_blocking_client() -> None:
    def failed_get(url: str, **options: Any) -> BaseException:
        with masthead.Client(masthead.Config(server=url, token=SECRET), attempts=1, **options) as client:
            with pytest.raises(MastheadError) as caught:
                client.core_v1.pods("default").get("web")
            return caught.value

    assert leaks(await asyncio.to_thread(failed_get, f"http://127.0.0.1:{free_port()}"), *MARKS) == []
    async with serving(never) as served:
        assert leaks(await asyncio.to_thread(failed_get, served.url, timeout=0.2), *MARKS) == []
    async with serving(once(b"rubbish\r\n\r\n")) as served:
        assert leaks(await asyncio.to_thread(failed_get, served.url), *MARKS) == []
    async with serving(always(REFUSED)) as served:
        assert leaks(await asyncio.to_thread(failed_get, served.url), *MARKS) == []
    client = masthead.Client(masthead.Config(server="http://127.0.0.1:1", token=SECRET))
    client.close()
    with pytest.raises(ClosedError) as caught:
        client.core_v1.pods("default").get("web")
    assert leaks(caught.value, *MARKS) == []


# ---------------------------------------------------------------------------------------------------------
# Configurations

KEY = base64.b64encode(f"-----BEGIN {SECRET}".encode()).decode()
KUBECONFIG = f"""
apiVersion: v1
kind: Config
current-context: dev
clusters: [{{name: dev, cluster: {{server: 'https://user:{SECRET}@127.0.0.1:1'}}}}]
contexts: [{{name: dev, context: {{cluster: dev, user: dev}}}}]
users:
- name: dev
  user: {{token: '{SECRET}', password: '{SECRET}', client-key-data: '{KEY}'}}
"""
BROKEN = {
    "a token that is a list": KUBECONFIG.replace(f"token: '{SECRET}'", f"token: ['{SECRET}']"),
    "a key that is no base64": KUBECONFIG.replace(KEY, f"{SECRET}!"),
    "a key that is no text": KUBECONFIG.replace(KEY, base64.b64encode(SECRET.encode() + b"\xff").decode()),
    "no YAML": KUBECONFIG + f"\n  - {SECRET}: [\n",
    "a tab": KUBECONFIG + f"\n\t{SECRET}",
    "two documents": f"{KUBECONFIG}\n---\n{KUBECONFIG}",
    "another kind": KUBECONFIG.replace("kind: Config", "kind: Pod"),
    "a user that is text": KUBECONFIG.replace("user: {token", f"user: {SECRET} #"),
    "no such context": KUBECONFIG.replace("current-context: dev", "current-context: prod"),
    "a name twice": KUBECONFIG + f"- name: dev\n  user: {{token: '{SECRET}'}}\n",
    "a token and a password": KUBECONFIG.replace("password", "username: me, password"),
    "a key without a certificate": KUBECONFIG,
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_a_kubeconfig_that_cannot_be_used(how: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(BROKEN[how])
    marks = (*MARKS, KEY[:16])
    for read in (
        lambda: load(path, environ={}),
        lambda: load(BROKEN[how], environ={}),
        lambda: from_kubeconfig(BROKEN[how], environ={}),
        lambda: Client(kubeconfig=BROKEN[how]),
        lambda: masthead.Client(kubeconfig=BROKEN[how]),
    ):
        with pytest.raises(ConfigError) as caught:
            read()
        assert leaks(caught.value, *marks) == []


def test_a_kubeconfig_that_is_far_too_long(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG + "#" * MAX_SIZE)
    with pytest.raises(ConfigError) as caught:
        load(path, environ={})
    assert leaks(caught.value, *MARKS) == []


def test_a_configuration_that_cannot_be_used() -> None:
    given: dict[str, Any]
    for given in (
        {"server": f"https://user:{SECRET}@127.0.0.1", "namespace": "No"},
        {"server": "ftp://x", "token": SECRET},
        {"server": "https://127.0.0.1", "token": f"{SECRET}\n"},
        {"server": "https://127.0.0.1", "username": "a:b", "password": SECRET},
        {"server": "https://127.0.0.1", "client_key_data": SECRET},
        {"server": f"https://user:{SECRET}@127.0.0.1", "nonsense": 5},
    ):
        with pytest.raises((ConfigError, TypeError)) as caught:
            Config(**given)
        assert leaks(caught.value, *MARKS) == []


def test_overrides_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    given: dict[str, Any]
    for given in ({"context": "prod"}, {"server": f"ftp://user:{SECRET}@x"}, {"nonsense": 1}):
        with pytest.raises((ConfigError, TypeError)) as caught:
            load(path, environ={}, token=SECRET, proxy_url=f"http://u:{SECRET}@x", **given)
        assert leaks(caught.value, *MARKS) == []


def test_tokens_that_cannot_be_written_back(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    for user in ("dev", "nobody"):
        with pytest.raises(ConfigError) as caught:
            write_user_tokens(path, user, id_token=SECRET, refresh_token=SECRET)
        assert leaks(caught.value, *MARKS) == []
    (tmp_path / "config.lock").touch()
    with pytest.raises(ConfigError) as caught:
        write_user_tokens(path, "dev", id_token=SECRET, refresh_token=SECRET, pause=lambda _: None)
    assert leaks(caught.value, *MARKS) == []


async def test_a_request_as_the_transport_is_given_it() -> None:
    transport = HttpTransport("http://127.0.0.1:1", tls=None)
    with pytest.raises(TransportError) as caught:
        await transport.send(TransportRequest("GET", "/", [("Authorization", Secret(SECRET))], timeout=0.0))
    assert leaks(caught.value, *MARKS) == []
    await transport.close()
