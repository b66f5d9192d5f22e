"""The servers that cases run against, and how to reach them over plain HTTP."""

from __future__ import annotations

import http.client
import json
import ssl
import tempfile
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.real_server import USERS, RestartableServer

import masthead.server
from masthead.server import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime

    from tests.conformance.case import Case
    from tests.real_server import RealServer

PATIENCE = 60.0
"""Seconds to wait for a response, or for the next event of a watch."""


@dataclass(frozen=True)
class Target:
    """One server.

    Attributes:
        url: Its address.
        token: What lets an administrator in.
        compact: Makes it forget the versions that are not the newest.
        ca_file: The certificate to trust, for https.
    """

    url: str
    token: str
    compact: Callable[[], object]
    ca_file: Path | None = None

    def connect(self) -> http.client.HTTPConnection:
        """A new connection, which is made when the first request is sent."""
        address = urllib.parse.urlsplit(self.url)
        assert address.hostname is not None
        if address.scheme == "http":
            return http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)
        trust = ssl.create_default_context(cafile=str(self.ca_file))
        return http.client.HTTPSConnection(address.hostname, address.port, timeout=PATIENCE, context=trust)

    def read_version(self) -> str:
        """Ask the server for its version."""
        connection = self.connect()
        connection.request("GET", "/version", headers={"Authorization": f"Bearer {self.token}"})
        document: dict[str, str] = json.loads(connection.getresponse().read())
        connection.close()
        return document["gitVersion"]


def real_target(server: RealServer) -> Target:
    """The real server, as a case sees it."""

    def compact() -> None:
        newest = _call_etcd(server.etcd, "/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        _call_etcd(server.etcd, "/v3/kv/compaction", {"revision": newest, "physical": True})

    return Target(server.url, server.token, compact, server.ca_file)


@contextmanager
def real_target_with(plugins: tuple[str, ...] = ()) -> Iterator[Target]:
    """Run a real server until the end of the block.

    Args:
        plugins: Further admission plugins.
    """
    options = {"disable-admission-plugins": "", "enable-admission-plugins": ",".join(plugins)} if plugins else {}
    with tempfile.TemporaryDirectory() as state, RestartableServer(Path(state), options) as running:
        yield real_target(running.server)


class Targets:
    """Servers with different admission plugins, each started for the first case that needs it.

    Args:
        start: Starts a server with further admission plugins.
    """

    def __init__(self, start: Callable[[tuple[str, ...]], AbstractContextManager[Target]]) -> None:
        self._start = start
        self._running: dict[tuple[str, ...], Target] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def find(self, case: Case) -> Target:
        """Return the server of a case."""
        if case.plugins not in self._running:
            self._running[case.plugins] = self._stack.enter_context(self._start(case.plugins))
        return self._running[case.plugins]


class _StandingClock(SystemClock):
    """The system's timers, and a time that stands still.

    Entries of managers from the same second are sorted by name, as in the recordings; on a busy machine a second may
    pass between two requests.
    """

    def __init__(self) -> None:
        self._now = super().now()

    def now(self) -> datetime:
        """Return the time at which the clock was made."""
        return self._now


@contextmanager
def embedded_target(plugins: tuple[str, ...] = ()) -> Iterator[Target]:
    """Run the embedded server until the end of the block.

    Args:
        plugins: Further admission plugins.
    """
    with tempfile.TemporaryDirectory() as folder:
        users = Path(folder) / "tokens.csv"
        users.write_text(USERS, "ascii")
        # No controllers: the real server has none beside it either. ServiceAccount is off then, as there.
        with masthead.server.run(
            clock=_StandingClock(),
            controllers=False,
            token_file=users,
            authorization="node,rbac",
            admission=dict.fromkeys(plugins, True),
        ) as server:
            yield Target(server.url, server.token or "", server.compact)


def _call_etcd(etcd: str, path: str, body: object) -> dict[str, dict[str, str]]:
    request = urllib.request.Request(f"{etcd}{path}", data=json.dumps(body).encode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=PATIENCE) as response:
        document: dict[str, dict[str, str]] = json.loads(response.read())
        return document
