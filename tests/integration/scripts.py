"""A server with scripted responses: one per watch, in order, and the same one for any other request."""

from __future__ import annotations

import json
import socket
import struct
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from tests.integration.conftest import connected
from tests.unit.transport.servers import chunk, http_response, never, receive, serving

from masthead.config import Config

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from tests.unit.transport.servers import Handler, ReceivedRequest

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"

Plain = dict[str, object]


@asynccontextmanager
async def client_of(handler: Handler, facade: str, **options: Any) -> AsyncIterator[Any]:
    """A client of a server that handles connections so."""
    async with serving(handler) as server, connected(Config(server=server.url), facade, **options) as client:
        yield client


def json_response(body: object, status: str = "200 OK") -> bytes:
    """A response in JSON."""
    return http_response(json.dumps(body).encode(), "Content-Type: application/json", status=status)


def config_map(name: str = "settings", version: str = "5", **content: object) -> Plain:
    metadata = {"name": name, "namespace": "shop", "resourceVersion": version}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **content}


def listed(*items: Plain, version: str = "9", token: str = "") -> Plain:
    metadata = {"resourceVersion": version, "continue": token}
    return {"apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": list(items)}


def status(code: int, reason: str, message: str) -> Plain:
    failure = {"status": "Failure", "code": code, "reason": reason, "message": message}
    return {"apiVersion": "v1", "kind": "Status", **failure}


def event(type_: str, body: object) -> bytes:
    return json.dumps({"type": type_, "object": body}).encode() + b"\n"


def bookmark(version: str, *, ends: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if ends else {}
    metadata = {"resourceVersion": version, "annotations": annotations}
    return event("BOOKMARK", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


@dataclass(frozen=True)
class ScriptedResponse:
    """The response to a request.

    Attributes:
        sent: The bytes.
        then: ``close`` the connection, ``hold`` it in silence, or ``reset`` it.
    """

    sent: bytes = b""
    then: str = "close"


def stream(*events: bytes, then: str = "hold", ends: bool = False) -> ScriptedResponse:
    """A watch that sends these events, then ends, stays silent, or is reset."""
    return ScriptedResponse(STREAM + b"".join(map(chunk, events)) + (END if ends else b""), "close" if ends else then)


@dataclass
class ScriptedServer:
    """Sends scripted responses.

    Attributes:
        watches: What each watch gets; the last of them also all that follow.
        rest: What any other request gets, in this order; the last of them again and again.
        seen: The requests.
    """

    watches: deque[ScriptedResponse] = field(default_factory=deque)
    rest: deque[bytes] = field(default_factory=lambda: deque([json_response(config_map())]))
    seen: list[ReceivedRequest] = field(default_factory=list)

    @property
    def queries(self) -> list[dict[str, str]]:
        """The query parameters of each watch."""
        found = [dict(parse_qsl(urlsplit(each.line.split()[1]).query)) for each in self.seen]
        return [each for each in found if "watch" in each]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await receive(reader)
            self.seen.append(request)
            if "watch=true" in request.line:
                await self._watch(reader, writer)
                return
            writer.write(self.rest.popleft() if len(self.rest) > 1 else self.rest[0])
            await writer.drain()

    async def _watch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        response = self.watches.popleft() if len(self.watches) > 1 else self.watches[0]
        writer.write(response.sent)
        await writer.drain()
        if response.then == "hold":
            await never(reader, writer)
        if response.then == "reset":
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
