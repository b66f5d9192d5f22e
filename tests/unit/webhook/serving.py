"""A webhook server for tests, and a client that speaks raw HTTP over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from masthead._endpoint.bind_address import BindAddress
from masthead._webhook.certificates import tls_context
from masthead._webhook.rotation import CertificateSet, RotationPolicy, rotate
from masthead._webhook.server import make_server
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from masthead._endpoint.http_server import EndpointServer
    from masthead._webhook.server import WebhookHandler
    from masthead.metrics import Metrics

CENTURY = timedelta(days=36_525)
POLICY = RotationPolicy(authority_validity=CENTURY, certificate_validity=CENTURY, backdate=CENTURY / 4)
NAMES = frozenset({"localhost", "127.0.0.1"})


@cache
def certificates() -> CertificateSet:
    """Certificates for the loopback interface, valid at any time of a test."""
    return rotate(CertificateSet(), NAMES, datetime.now(UTC), POLICY)


class Echo:
    """A handler that returns the body."""

    name = "echo.example.com"
    timeout = 10.0

    async def respond(self, body: bytes, limit: float) -> bytes:
        return body or f"{limit:g}".encode()


@contextlib.asynccontextmanager
async def serving(
    handler: WebhookHandler | None = None, *, metrics: Metrics = NO_METRICS, **paths: WebhookHandler
) -> AsyncGenerator[tuple[EndpointServer, list[str]]]:
    """Serve handlers at ``/hook`` and further paths; yield the server and the reported failures."""
    failures: list[str] = []

    def report(name: str, error: BaseException | None) -> None:
        if error is not None:
            failures.append(f"{name}: {type(error).__name__}: {error}")

    known = certificates()
    context = tls_context(known.certificate, known.key)
    handlers = {"/hook": handler or Echo(), **{f"/{path}": other for path, other in paths.items()}}
    bind = BindAddress("127.0.0.1", 0)
    async with make_server(handlers, bind, lambda: context, metrics=metrics, report=report) as server:
        yield server, failures


class TlsClient:
    """A TLS connection on which a test writes raw bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int, bundle: bytes | None = None) -> TlsClient:
        context = ssl.create_default_context(cadata=(bundle or certificates().bundle).decode())
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost"))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def post(self, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
        """Send a request, and read its response."""
        given: Mapping[str, str] = {"content_type": "application/json", **headers}
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
        await self.send("\r\n".join([*lines, "", ""]).encode() + body)
        return await self.response()

    async def response(self) -> tuple[int, bytes]:
        """Read one response."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        length = next(int(line.split()[1]) for line in lines if line.startswith("Content-Length"))
        return int(lines[0].split()[1]), await self.reader.readexactly(length)

    async def is_closed(self) -> bool:
        """Wait until the server has closed the connection."""
        try:
            return await self.reader.read(1) == b""
        except (ConnectionResetError, ssl.SSLError):
            return True

    def close(self) -> None:
        self.writer.transport.abort()


async def post(port: int, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    """Send one request on a new connection."""
    client = await TlsClient.connect(port)
    try:
        return await client.post(path, body, **headers)
    finally:
        client.close()


def review(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None, **changes: Any) -> bytes:
    """Encode the AdmissionReview of an object."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    request = {
        "uid": "1",
        "operation": "CREATE" if old is None else "UPDATE",
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "resource": {"group": group, "version": version, "resource": "objects"},
        "name": obj["metadata"].get("name", ""),
        "userInfo": {"username": "ann"},
        "object": obj,
        "oldObject": old,
        **changes,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
