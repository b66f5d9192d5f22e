"""The servers that cases run against, and how to reach them over plain HTTP."""

from __future__ import annotations

import http.client
import json
import ssl
import tempfile
import urllib.parse
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.real_server import USERS

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def real_target(server: RealServer) -> Target:
    """The real server, as a case sees it."""

    def compact() -> None:
        newest = _call_etcd(server.etcd, "/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        _call_etcd(server.etcd, "/v3/kv/compaction", {"revision": newest, "physical": True})

    return Target(server.url, server.token, compact, server.ca_file)


@contextmanager
def embedded_target() -> Iterator[Target]:
    """Run the embedded server until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        users = Path(folder) / "tokens.csv"
        users.write_text(USERS, "ascii")
        # No controllers: the real server has none beside it either.
        with masthead.server.run(controllers=False, token_file=users, authorization="node,rbac") as server:
            yield Target(server.url, server.token or "", server.compact)


def _call_etcd(etcd: str, path: str, body: object) -> dict[str, dict[str, str]]:
    request = urllib.request.Request(f"{etcd}{path}", data=json.dumps(body).encode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=PATIENCE) as response:
        document: dict[str, dict[str, str]] = json.loads(response.read())
        return document
