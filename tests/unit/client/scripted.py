"""A network with a scripted server at its other end, for what the embedded one does not do yet."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from masthead._auth.tokens import AnonymousCredentials
from masthead._client.base import ClientContext, Defaults
from masthead._meta.secret import reveal
from masthead._rest.client import RestClient
from masthead._rest.settings import RestSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from masthead._transport.contract import TransportRequest


@dataclass(frozen=True)
class FakeResponse:
    """A response, as transports return it.

    Attributes:
        stays_open: Whether a stream goes on behind what is there, with nothing in it.
    """

    status: int = 200
    body: bytes = b""
    stays_open: bool = False

    def header(self, name: str) -> str:
        return "application/json" if name.lower() == "content-type" else ""

    def headers_of(self, name: str) -> list[str]:
        return [value] if (value := self.header(name)) else []

    async def read(self) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body
        if self.stays_open:
            await asyncio.Event().wait()

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class SentRequest:
    """A request, taken apart."""

    method: str
    path: str
    query: dict[str, str]
    body: object

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"


@dataclass
class FakeTransport:
    """A transport that passes each request to a function, and records it."""

    respond: Callable[[SentRequest], FakeResponse]
    sent: list[SentRequest] = field(default_factory=list)

    async def send(self, request: TransportRequest) -> FakeResponse:
        parts = urlsplit(request.target)
        body = json.loads(reveal(request.body)) if request.body else None
        sent = SentRequest(request.method, parts.path, dict(parse_qsl(parts.query)), body)
        self.sent.append(sent)
        return self.respond(sent)

    async def close(self) -> None:
        pass


def context_over(network: FakeTransport, *, field_manager: str = "") -> ClientContext:
    rest = RestClient(network, AnonymousCredentials(), settings=RestSettings(attempts=1))
    return ClientContext(rest, Defaults(field_manager=field_manager))


def reply(data: object, status: int = 200) -> FakeResponse:
    return FakeResponse(status, json.dumps(data).encode())


def stream(*events: object, stays_open: bool = True) -> FakeResponse:
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return FakeResponse(body=lines, stays_open=stays_open)


def failure(code: int, reason: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": f"it is {reason}",
    }
