"""A transport with scripted responses, and scripted credentials."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead._meta.secret import Secret, reveal
from masthead._rest.call import Call, Subject
from masthead._rest.client import RestClient
from masthead.errors import AuthError
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from masthead._auth.credentials import Certificate
    from masthead._rest.settings import RestSettings
    from masthead._transport.contract import TransportRequest

JSON = "application/json"


@dataclass
class FakeResponse:
    """One response, and what became of it.

    Attributes:
        status: The HTTP code.
        body: What comes of the body, in one piece or in several.
        headers: With them.
        broken: What the reading ends with, if not with the body's end.
        takes: Seconds until the head comes.
    """

    status: int = 200
    body: bytes | Sequence[bytes] = b"{}"
    headers: Sequence[tuple[str, str]] = (("Content-Type", JSON),)
    broken: Exception | None = None
    takes: float = 0.0
    given: int = 0
    is_read: bool = False
    is_closed: bool = False

    def header(self, name: str) -> str:
        return next(iter(self.headers_of(name)), "")

    def headers_of(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each.lower() == name.lower()]

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        pieces = [self.body] if isinstance(self.body, bytes) else self.body
        for piece in pieces:
            self.given += 1
            yield piece
        if self.broken is not None:
            raise self.broken
        self.is_read = True

    def close(self) -> None:
        self.is_closed = True


def status(code: int, reason: str = "", message: str = "", **more: object) -> bytes:
    """A Status of failure."""
    fields = {"status": "Failure", "message": message, "reason": reason, "code": code, **more}
    return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, **fields}).encode()


def retry_later(seconds: int | str, code: int = 429, body: bytes = b"busy") -> FakeResponse:
    """A response with Retry-After."""
    return FakeResponse(code, body, [("Retry-After", str(seconds)), ("Content-Type", "text/plain")])


def html(code: int, body: bytes = b"<html><head><title>Sign\n in</title></head>secret</html>") -> FakeResponse:
    """A page for people."""
    return FakeResponse(code, body, [("Content-Type", "text/html; charset=utf-8")])


@dataclass
class FakeTransport:
    """A transport that returns one response after the other.

    Attributes:
        script: What comes; an exception is raised.
        requests: What was sent.
        times: When.
    """

    script: list[FakeResponse | Exception]
    requests: list[TransportRequest] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    given: list[FakeResponse] = field(default_factory=list)
    is_closed: bool = False

    async def send(self, request: TransportRequest) -> FakeResponse:
        self.requests.append(request)
        self.times.append(now())
        reply = self.script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        await asyncio.sleep(reply.takes)
        self.given.append(reply)
        return reply

    async def close(self) -> None:
        self.is_closed = True

    def sent(self, name: str, request: int = -1) -> list[str]:
        """The values of a header that was sent."""
        headers = self.requests[request].headers
        return [reveal(value) for each, value in headers if each.lower() == name.lower()]

    @property
    def leaks(self) -> list[FakeResponse]:
        """Responses that were neither read nor closed."""
        return [reply for reply in self.given if not reply.is_read and not reply.is_closed]


@dataclass
class FakeCredentials:
    """A sequence of credentials; the next one is used when the server rejects the one before."""

    tokens: list[str] = field(default_factory=lambda: ["Bearer one"])
    takes: float = 0.0
    problem: str = ""
    refused: list[str] = field(default_factory=list)
    _current: int = 0

    async def authorization(self) -> Secret:
        await asyncio.sleep(self.takes)
        if self.problem:
            raise AuthError(self.problem)
        return Secret(self.tokens[self._current])

    async def certificate(self) -> Certificate | None:
        return None

    async def renew(self, refused: Secret) -> bool:
        self.refused.append(refused.reveal())
        if self._current + 1 == len(self.tokens):
            return False
        self._current += 1
        await asyncio.sleep(self.takes)
        return True


def client(
    *script: FakeResponse | Exception,
    badge: FakeCredentials | None = None,
    settings: RestSettings | None = None,
    headers: Sequence[tuple[str, str]] = (),
    luck: float = 0.0,
    origin: str = "",
) -> tuple[RestClient, FakeTransport]:
    """A client of such a network, whose waits are lengthened by no chance."""
    network = FakeTransport(list(script))
    made = RestClient(
        network,
        badge or FakeCredentials(),
        settings=settings,
        headers=headers,
        random=lambda: luck,
        origin=origin,
    )
    return made, network


def get(**more: object) -> Call:
    """A call for a pod."""
    return Call("GET", "/api/v1/namespaces/ns/pods/web", Subject("get", "pods", "ns", "web"), **more)  # type: ignore[arg-type]


def create(body: bytes = b'{"spec":{}}') -> Call:
    """A call that creates a pod."""
    return Call("POST", "/api/v1/namespaces/ns/pods", Subject("create", "pods", "ns"), body=body)


def watch(**more: object) -> Call:
    """A call for a stream."""
    return Call("GET", "/api/v1/pods", Subject("watch", "pods"), (("watch", "true"),), **more)  # type: ignore[arg-type]
