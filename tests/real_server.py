"""A real kube-apiserver with its etcd, on loopback and in temporary folders, for tests that ask the real thing.

It runs where ``KUBEBUILDER_ASSETS`` names a folder that holds both programs, as envtest's convention has it
(``/usr/local/kubebuilder/bin`` by default). Elsewhere, `missing_programs` says what is not there.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ASSETS = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/usr/local/kubebuilder/bin")
USER = "kubernetes-admin"
READY_WITHIN = 60.0
POLL_EVERY = 0.1


@dataclass(frozen=True)
class RealServer:
    """Where the server is, and how to be let in as an administrator.

    Attributes:
        url: Its address.
        token: A bearer token of the group ``system:masters``.
        ca_file: The certificate to trust.
        etcd: The address of its storage.
    """

    url: str
    token: str
    ca_file: Path
    etcd: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send a request, and return what the answer's JSON says.

        Raises:
            urllib.error.HTTPError: if the server refuses it.
        """
        return json.loads(self.fetch(method, path, body) or b"null")

    def fetch(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request, and return the answer's bytes.

        Args:
            method: ``GET`` and so on.
            path: From the first slash on.
            body: Bytes, or data to send as JSON.

        Raises:
            urllib.error.HTTPError: if the server refuses it.
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
        with opener.open(request, timeout=60) as answer:
            return bytes(answer.read())


def missing_programs() -> list[str]:
    """What would have to be there, and is not."""
    return [name for name in ("etcd", "kube-apiserver") if not (ASSETS / name).is_file()]


@contextmanager
def real_server_in(state: Path) -> Iterator[RealServer]:
    """Run a server of its own until the end of the block, empty but for what every server has.

    Args:
        state: An empty folder for its data, certificates and logs.

    Raises:
        RuntimeError: if it does not get ready; the message has the last lines that it wrote.
    """
    with _etcd(state) as etcd, _api_server(state, etcd) as server:
        yield server


def wait_until(is_so: Callable[[], bool], *, within: float = READY_WITHIN) -> bool:
    """Ask again and again; returns whether it came true in time."""
    pause = threading.Event()
    deadline = time.monotonic() + within
    while not is_so():
        if time.monotonic() > deadline:
            return False
        pause.wait(POLL_EVERY)
    return True


@contextmanager
def _etcd(state: Path) -> Iterator[str]:
    clients, peers = (f"http://127.0.0.1:{_free_port()}" for _ in range(2))
    options = {
        "data-dir": str(state / "etcd"),
        "listen-client-urls": clients,
        "advertise-client-urls": clients,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": f"default={peers}",
        "unsafe-no-fsync": "true",
    }
    with _running("etcd", options, state):
        # So that version 1 is older than all that the server's caches will ever have seen.
        if not wait_until(lambda: _has_put(clients, "before everything")):
            raise RuntimeError(f"etcd did not get ready:\n{_last_words('etcd', state)}")
        yield clients


@contextmanager
def _api_server(state: Path, etcd: str) -> Iterator[RealServer]:
    port, token = _free_port(), secrets.token_hex(16)
    key_file, token_file = state / "service-accounts.key", state / "tokens.csv"
    key_file.write_text(_private_key(), "ascii")
    token_file.write_text(f'{token},{USER},,"system:masters"\n', "ascii")
    server = RealServer(f"https://127.0.0.1:{port}", token, state / "certificates" / "apiserver.crt", etcd)
    options = {
        "etcd-servers": etcd,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": str(port),
        "cert-dir": str(server.ca_file.parent),  # makes a certificate of its own there
        "service-cluster-ip-range": "10.0.0.0/24",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": str(key_file),
        "service-account-signing-key-file": str(key_file),
        "token-auth-file": str(token_file),
        "authorization-mode": "RBAC",
        "disable-admission-plugins": "ServiceAccount",  # nobody is there to make service accounts
        "allow-privileged": "true",
        "endpoint-reconciler-type": "none",
        "runtime-config": "api/all=true",
    }
    with _running("kube-apiserver", options, state) as process:
        if (
            not wait_until(lambda: process.poll() is not None or _is_ready(server))
            or process.poll() is not None
        ):
            raise RuntimeError(f"kube-apiserver did not get ready:\n{_last_words('kube-apiserver', state)}")
        yield server


@contextmanager
def _running(program: str, options: dict[str, str], state: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program of ours until the end of the block, its output going to a file."""
    arguments = [f"--{name}={value}" for name, value in options.items()]
    with (state / f"{program}.log").open("wb") as log:
        process = subprocess.Popen(
            [ASSETS / program, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=state
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _has_put(etcd: str, key: str) -> bool:
    body = json.dumps({"key": base64.b64encode(key.encode()).decode()}).encode()
    request = urllib.request.Request(f"{etcd}/v3/kv/put", data=body)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60):
            return True
    except OSError:  # it does not listen yet
        return False


def _is_ready(server: RealServer) -> bool:
    try:
        return server.ca_file.is_file() and server.fetch("GET", "/readyz") == b"ok"
    except OSError:  # it does not listen yet, or says that it is not ready
        return False


def _last_words(program: str, state: Path) -> str:
    return "\n".join((state / f"{program}.log").read_text("utf-8", "replace").splitlines()[-15:])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _private_key() -> str:
    """A key to sign service accounts' tokens with: elliptic, because such a key is any number of 32 bytes.

    RFC 5915 wraps it: a version, the number, and the name of the curve, P-256.
    """
    number = secrets.randbits(255).to_bytes(32, "big")
    body = b"\x02\x01\x01" + b"\x04\x20" + number + bytes.fromhex("a00a06082a8648ce3d030107")
    encoded = base64.b64encode(b"\x30" + bytes([len(body)]) + body).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{encoded}\n-----END EC PRIVATE KEY-----\n"
