"""An admission webhook in the event loop of a test, which decides when and how it answers."""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import trustme

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    Plain: TypeAlias = dict[str, Any]

NAMES = ("127.0.0.1", "hook.default.svc")


@functools.cache
def authority() -> trustme.CA:
    """The authority of all certificates."""
    return trustme.CA()


@functools.cache
def server_context() -> ssl.SSLContext:
    """The TLS context of all webhooks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(*NAMES).configure_cert(context)
    return context


class LoopWebhook:
    """Allows every request, unless a test sets another answer or lets it wait.

    Attributes:
        port: Its port on 127.0.0.1.
        reviews: The requests of the reviews that have arrived.
        answer: Makes the fields of the response.
        arrived: Set by every review.
        may_answer: Reviews wait until it is set.
        aborted: Set when a connection ends before its answer.
    """

    def __init__(self) -> None:
        self.port = 0
        self.reviews: list[Plain] = []
        self.answer: Callable[[Plain], Plain] = lambda _request: {"allowed": True}
        self.arrived = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.aborted = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one review."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        review = json.loads(await reader.readexactly(length))
        self.reviews.append(review["request"])
        self.arrived.set()
        loop = asyncio.get_running_loop()
        ended, allowed = loop.create_task(reader.read()), loop.create_task(self.may_answer.wait())
        done, pending = await asyncio.wait((ended, allowed), return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        if allowed not in done:
            self.aborted.set()
            writer.close()
            return
        response = {"uid": review["request"]["uid"], **self.answer(review["request"])}
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body)
        await writer.drain()
        writer.close()

    def configuration(self, kind: str = "Validating", *, name: str = "test", **fields: Any) -> Plain:
        """A configuration of this webhook, for ConfigMaps by default."""
        rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps"]}
        hook = {
            "name": "test.example.com",
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}/", "caBundle": bundle()},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration"}
        return {**head, "metadata": {"name": name}, "webhooks": [hook]}


def bundle() -> str:
    """The certificate of the authority, as configurations have it."""
    return base64.b64encode(authority().cert_pem.bytes()).decode()


@asynccontextmanager
async def running_webhook() -> AsyncIterator[LoopWebhook]:
    """Run a webhook during the block."""
    webhook = LoopWebhook()
    server = await asyncio.start_server(webhook.serve, "127.0.0.1", 0, ssl=server_context())
    webhook.port = server.sockets[0].getsockname()[1]
    try:
        yield webhook
    finally:
        webhook.may_answer.set()
        server.close()
