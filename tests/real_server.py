"""A real kube-apiserver with its etcd, on loopback and in temporary folders, for tests that ask the real thing.

It runs where ``KUBEBUILDER_ASSETS`` names a folder that holds both programs, as envtest's convention has it
(``/usr/local/kubebuilder/bin`` by default). Elsewhere, `missing_programs` says what is not there.
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
    token: str = field(repr=False)
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
    with RestartableServer(state) as running:
        yield running.server


class RestartableServer:
    """A server that can be stopped, started, robbed of its data and made to forget; for one test at a time.

    Its address, certificate and users stay what they were. Everything here blocks, until it is done.

    Args:
        state: An empty folder for its data, certificates and logs.
        options: What kube-apiserver is started with beside, or in place of the usual, without the dashes.

    Attributes:
        server: Where it is.
    """

    def __init__(self, state: Path, options: Mapping[str, str] | None = None) -> None:
        self._state = state
        etcd, token = f"http://127.0.0.1:{_free_port()}", secrets.token_hex(16)
        certificate = state / "certificates" / "apiserver.crt"
        self.server = RealServer(f"https://127.0.0.1:{_free_port()}", token, certificate, etcd)
        self._etcd = _Program("etcd", _etcd_options(state, etcd), state)
        all_options = {**_api_server_options(state, self.server), **(options or {})}
        self._api_server = _Program("kube-apiserver", all_options, state)

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
            RuntimeError: if it does not get ready; the message has the last lines that it wrote.
        """
        self._api_server.start(lambda: _is_ready(self.server))

    def stop(self, *, at_once: bool = False) -> None:
        """Stop kube-apiserver, in order or at once, as a crash does; the storage stays."""
        self._api_server.stop(at_once=at_once)

    def lose_everything(self, *, revisions: int = 0) -> None:
        """Stop both, and start them again with no data: versions start over.

        Args:
            revisions: How many writes the new storage has seen before kube-apiserver comes to it.

        Raises:
            RuntimeError: if one does not get ready.
        """
        self.stop(at_once=True)
        self._etcd.stop(at_once=True)
        shutil.rmtree(self._state / "etcd")
        self._start_etcd()
        for _ in range(revisions):
            assert _has_put(self.server.etcd, "something else")
        self.start()

    def compact(self) -> None:
        """Let the storage forget all versions but the newest.

        What kube-apiserver has in its memory, it still knows, until it is started again.
        """
        newest = _ask_etcd(self.server.etcd, "range", {"key": _encoded("before everything")})["header"][
            "revision"
        ]
        _ask_etcd(self.server.etcd, "compaction", {"revision": newest, "physical": True})

    def _start_etcd(self) -> None:
        # So that version 1 is older than all that the server's caches will ever have seen.
        self._etcd.start(lambda: _has_put(self.server.etcd, "before everything"))


def wait_until(is_so: Callable[[], bool], *, within: float = READY_WITHIN) -> bool:
    """Ask again and again; returns whether it came true in time."""
    pause = threading.Event()
    deadline = time.monotonic() + within
    while not is_so():
        if time.monotonic() > deadline:
            return False
        pause.wait(POLL_EVERY)
    return True


class _Program:
    """A program of ours, whose output goes to a file."""

    def __init__(self, name: str, options: dict[str, str], state: Path) -> None:
        self._name = name
        self._command = [str(ASSETS / name), *(f"--{option}={value}" for option, value in options.items())]
        self._state = state
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, is_ready: Callable[[], bool]) -> None:
        """Start it, and wait until it is ready.

        Raises:
            RuntimeError: if it does not get ready.
        """
        with (self._state / f"{self._name}.log").open("ab") as log:
            process = self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._state
            )
        if not wait_until(lambda: process.poll() is not None or is_ready()) or process.poll() is not None:
            raise RuntimeError(f"{self._name} did not get ready:\n{_last_words(self._name, self._state)}")

    def stop(self, *, at_once: bool = False) -> None:
        """Stop it, and wait until it is gone."""
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
    token_file.write_text(f'{server.token},{USER},,"system:masters"\n', "ascii")
    return {
        "etcd-servers": server.etcd,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": server.url.rpartition(":")[2],
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


def _has_put(etcd: str, key: str) -> bool:
    try:
        _ask_etcd(etcd, "put", {"key": _encoded(key)})
    except OSError:  # it does not listen yet
        return False
    return True


def _ask_etcd(etcd: str, what: str, body: dict[str, object]) -> Any:
    """Ask the storage through its HTTP gateway."""
    request = urllib.request.Request(f"{etcd}/v3/kv/{what}", data=json.dumps(body).encode())
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.loads(answer.read())


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def _is_ready(server: RealServer) -> bool:
    try:
        return server.ca_file.is_file() and server.fetch("GET", "/readyz") == b"ok"
    except OSError:  # it does not listen yet, or says that it is not ready
        return False


def _last_words(program: str, state: Path) -> str:
    return "\n".join((state / f"{program}.log").read_text("utf-8", "replace").splitlines()[-15:])


def _free_port() -> int:
    """A port that nobody listens on, and that nobody is given who does not ask for it by its number.

    The system gives higher ones to whoever connects: to others while a server of ours is away, or even to a client of
    it, which then is connected with itself.
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
