"""A real kube-apiserver with its etcd, on loopback and in temporary folders.

As for envtest, ``KUBEBUILDER_ASSETS`` names the folder of both programs (``/usr/local/kubebuilder/bin`` by default).
`missing_programs` lists those that are not installed.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ASSETS = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/usr/local/kubebuilder/bin")
USER = "kubernetes-admin"
USERS = """\
jane-token,jane,uid-of-jane
ann-token,ann,,"devs,testers"
root-token,root,0,"system:masters"
boss-token,boss,,"system:masters"
node-token,system:node:n1,,"system:nodes"
impersonator-token,impersonator,,"impersonators"
odd-token,odd,,""
"""
"""Further users of the server, in the lines of a token file."""
READY_WITHIN = 60.0
POLL_EVERY = 0.1
_TOO_MANY_REQUESTS = 429


@dataclass(frozen=True)
class RealServer:
    """The URL of a server and the credentials of an administrator.

    Attributes:
        url: Its URL.
        token: A bearer token of the group ``system:masters``.
        ca_file: The certificate authority.
        etcd: The URL of its etcd.
    """

    url: str
    token: str = field(repr=False)
    ca_file: Path
    etcd: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request, and return the decoded JSON of the response.

        Raises:
            urllib.error.HTTPError: If the server rejects it.
        """
        return json.loads(self.fetch(method, path, body) or b"null")

    def fetch(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request, and return the body of the response.

        Args:
            method: ``GET`` and so on.
            path: The path, from the first slash on.
            body: Bytes, or data to send as JSON.

        Raises:
            urllib.error.HTTPError: If the server rejects it.
        """
        request = urllib.request.Request(
            f"{self.url}{path}",
            method=method,
            data=body if isinstance(body, bytes | None) else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        trust = ssl.create_default_context(cafile=str(self.ca_file))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        deadline = time.monotonic() + READY_WITHIN
        while True:
            try:
                with opener.open(request, timeout=60) as answer:
                    return bytes(answer.read())
            except urllib.error.HTTPError as error:
                # A server that is just being filled, or is busy, says when to come again.
                if error.code != _TOO_MANY_REQUESTS or time.monotonic() > deadline:
                    raise
                threading.Event().wait(float(error.headers.get("Retry-After", POLL_EVERY)))


def missing_programs() -> list[str]:
    """Return the programs that are not installed."""
    return [name for name in ("etcd", "kube-apiserver") if not (ASSETS / name).is_file()]


@contextmanager
def real_server_in(state: Path) -> Iterator[RealServer]:
    """Run a fresh server until the end of the block.

    Args:
        state: An empty folder for its data, certificates and logs.

    Raises:
        RuntimeError: If it does not become ready; the message has the last lines of its log.
    """
    with RestartableServer(state) as running:
        yield running.server


class RestartableServer:
    """A server that can be stopped, restarted, emptied and compacted; for one test at a time.

    Its URL, certificate and users do not change. All methods block until they are done.

    Args:
        state: An empty folder for its data, certificates and logs.
        options: Additional or changed options of kube-apiserver, without the dashes.

    Attributes:
        server: Its URL and credentials.
    """

    def __init__(self, state: Path, options: Mapping[str, str] | None = None) -> None:
        self._state = state
        etcd, token = f"http://127.0.0.1:{_free_port()}", secrets.token_hex(16)
        certificate = state / "certificates" / "apiserver.crt"
        self.server = RealServer(f"https://127.0.0.1:{_free_port()}", token, certificate, etcd)
        self._etcd = _Program("etcd", _etcd_options(state, etcd), state)
        all_options = {**_api_server_options(state, self.server), **(options or {})}
        self._api_server = _Program("kube-apiserver", all_options, state)

    @property
    def process_id(self) -> int:
        """The process of kube-apiserver, which runs."""
        return self._api_server.process_id

    def __enter__(self) -> Self:
        try:
            self._start_etcd()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._api_server.stop()
        self._etcd.stop()

    def start(self) -> None:
        """Start kube-apiserver.

        Raises:
            RuntimeError: If it does not become ready; the message has the last lines of its log.
        """
        self._api_server.start(lambda: _is_ready(self.server))

    def stop(self, *, at_once: bool = False) -> None:
        """Stop kube-apiserver, gracefully or like a crash; etcd keeps running."""
        self._api_server.stop(at_once=at_once)

    def lose_everything(self, *, revisions: int = 0) -> None:
        """Stop both, and restart them without data: resource versions start over.

        Args:
            revisions: The number of writes to the new etcd before kube-apiserver starts.

        Raises:
            RuntimeError: If one does not become ready.
        """
        self.stop(at_once=True)
        self._etcd.stop(at_once=True)
        shutil.rmtree(self._state / "etcd")
        self._start_etcd()
        for _ in range(revisions):
            assert _has_put(self.server.etcd, "something else")
        self.start()

    def compact(self) -> None:
        """Compact etcd: drop all revisions but the newest.

        The watch cache of kube-apiserver keeps its history until it is restarted.
        """
        newest = _ask_etcd(self.server.etcd, "range", {"key": _encoded("before everything")})["header"]["revision"]
        _ask_etcd(self.server.etcd, "compaction", {"revision": newest, "physical": True})

    def _start_etcd(self) -> None:
        # So that version 1 is older than anything in the server's caches.
        self._etcd.start(lambda: _has_put(self.server.etcd, "before everything"))


def wait_until(is_so: Callable[[], bool], *, within: float = READY_WITHIN) -> bool:
    """Poll a condition; return whether it became true in time."""
    pause = threading.Event()
    deadline = time.monotonic() + within
    while not is_so():
        if time.monotonic() > deadline:
            return False
        pause.wait(POLL_EVERY)
    return True


class _Program:
    """A subprocess whose output goes to a file."""

    def __init__(self, name: str, options: dict[str, str], state: Path) -> None:
        self._name = name
        self._command = [str(ASSETS / name), *(f"--{option}={value}" for option, value in options.items())]
        self._state = state
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process_id(self) -> int:
        """The id of the process, which runs."""
        assert self._process is not None
        return self._process.pid

    def start(self, is_ready: Callable[[], bool]) -> None:
        """Start it, and wait until it is ready.

        Raises:
            RuntimeError: If it does not become ready.
        """
        with (self._state / f"{self._name}.log").open("ab") as log:
            process = self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._state
            )
        if not wait_until(lambda: process.poll() is not None or is_ready()) or process.poll() is not None:
            raise RuntimeError(f"{self._name} did not get ready:\n{_last_words(self._name, self._state)}")

    def stop(self, *, at_once: bool = False) -> None:
        """Stop it, and wait until it has exited."""
        process, self._process = self._process, None
        if process is None:
            return
        if not at_once:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
        process.kill()
        process.wait()


def _etcd_options(state: Path, clients: str) -> dict[str, str]:
    peers = f"http://127.0.0.1:{_free_port()}"
    return {
        "data-dir": str(state / "etcd"),
        "listen-client-urls": clients,
        "advertise-client-urls": clients,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": f"default={peers}",
        "unsafe-no-fsync": "true",
    }


def _api_server_options(state: Path, server: RealServer) -> dict[str, str]:
    key_file, token_file = state / "service-accounts.key", state / "tokens.csv"
    key_file.write_text(_private_key(), "ascii")
    token_file.write_text(f'{server.token},{USER},,"system:masters"\n{USERS}', "ascii")
    return {
        "etcd-servers": server.etcd,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": server.url.rpartition(":")[2],
        "cert-dir": str(server.ca_file.parent),  # where it creates a self-signed certificate
        "service-cluster-ip-range": "10.0.0.0/24",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": str(key_file),
        "service-account-signing-key-file": str(key_file),
        "token-auth-file": str(token_file),
        "authorization-mode": "Node,RBAC",
        "disable-admission-plugins": "ServiceAccount",  # no controller manager runs that would create service accounts
        "allow-privileged": "true",
        "endpoint-reconciler-type": "none",
        "runtime-config": "api/all=true",
    }


def _has_put(etcd: str, key: str) -> bool:
    try:
        _ask_etcd(etcd, "put", {"key": _encoded(key)})
    except OSError:  # it does not listen yet
        return False
    return True


def _ask_etcd(etcd: str, what: str, body: dict[str, object]) -> Any:
    """Call etcd through its HTTP gateway."""
    request = urllib.request.Request(f"{etcd}/v3/kv/{what}", data=json.dumps(body).encode())
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.loads(answer.read())


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _is_ready(server: RealServer) -> bool:
    try:
        return server.ca_file.is_file() and server.fetch("GET", "/readyz") == b"ok"
    except OSError:  # it does not listen yet, or is not ready
        return False


def _last_words(program: str, state: Path) -> str:
    return "\n".join((state / f"{program}.log").read_text("utf-8", "replace").splitlines()[-15:])


def _free_port() -> int:
    """Return a free port below the ephemeral range.

    An ephemeral port could be assigned to another connection while the server is stopped, or even to a client of it,
    which would then be connected to itself.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _private_key() -> str:
    """A key to sign service accounts' tokens with: elliptic, because such a key is any number of 32 bytes.

    RFC 5915 wraps it: a version, the number, and the name of the curve, P-256.
    """
    number = secrets.randbits(255).to_bytes(32, "big")
    body = b"\x02\x01\x01" + b"\x04\x20" + number + bytes.fromhex("a00a06082a8648ce3d030107")
    encoded = base64.b64encode(b"\x30" + bytes([len(body)]) + body).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{encoded}\n-----END EC PRIVATE KEY-----\n"
