"""Pods of a server, and their subresources over plain HTTP and WebSockets: nothing of the library's own client."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from masthead.server import Server

Plain = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
V5 = "v5.channel.k8s.io"
V4 = "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PATIENCE = 30.0


def pod(name: str = "web", *containers: str, **spec: Any) -> Plain:
    """A pod; with one container, app, unless others are named."""
    found = [{"name": container, "image": "busybox"} for container in containers or ("app",)]
    return {"metadata": {"name": name}, "spec": {"containers": found, **spec}}


@dataclass
class Result:
    """What a command has sent: its outputs and its Status."""

    outputs: dict[int, bytes]
    close_code: int | None = None

    @property
    def stdout(self) -> str:
        return self.outputs[STDOUT].decode()

    @property
    def stderr(self) -> str:
        return self.outputs[STDERR].decode()

    @property
    def status(self) -> Plain:
        found: Plain = json.loads(self.outputs[ERROR])
        return found

    @property
    def code(self) -> int:
        """The exit code."""
        status = self.status
        if status["status"] == "Success":
            return 0
        assert status["reason"] == "NonZeroExitCode", status
        return int(status["details"]["causes"][0]["message"])


class Session:
    """An exec or attach that is open."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, data: bytes, channel: int = STDIN) -> None:
        await self.socket.send_bytes(bytes((channel,)) + data)

    async def end_stdin(self) -> None:
        await self.send(bytes((STDIN,)), CLOSE)

    async def read(self, channel: int = STDOUT) -> bytes:
        """The next message of a channel that is not empty; those of others are skipped."""
        while True:
            message = await self.socket.receive(PATIENCE)
            assert message.type is aiohttp.WSMsgType.BINARY, message
            if message.data[0] == channel and len(message.data) > 1:
                found: bytes = message.data[1:]
                return found

    async def read_until(self, text: bytes, channel: int = STDOUT) -> bytes:
        """All of a channel until a text was read."""
        found = b""
        while text not in found:
            found += await self.read(channel)
        return found

    async def result(self) -> Result:
        """All that is sent until the end."""
        pieces: dict[int, list[bytes]] = {STDOUT: [], STDERR: [], ERROR: []}
        async for message in self.socket:
            assert message.type is aiohttp.WSMsgType.BINARY, message
            pieces[message.data[0]].append(message.data[1:])
        found = Result({channel: b"".join(each) for channel, each in pieces.items()})
        found.close_code = self.socket.close_code
        return found


class Remote:
    """A client of a server."""

    def __init__(self, server: Server, http: aiohttp.ClientSession) -> None:
        self.server = server
        self.http = http

    async def create(self, body: Plain, *, start: bool = True) -> str:
        """Create a pod, and start it; returns its name."""
        async with self.http.post(PODS, json=body) as response:
            assert response.status == 201, await response.text()
        name: str = body["metadata"]["name"]
        if start:
            self.server.kubelet.start(name)
        return name

    async def get(self, name: str = "web") -> Plain:
        async with self.http.get(f"{PODS}/{name}") as response:
            found: Plain = await response.json()
            return found

    async def log(self, name: str = "web", **query: object) -> tuple[int, str]:
        """The status code and the body of a log."""
        async with self.http.get(f"{PODS}/{name}/log?{urlencode(query)}") as response:
            return response.status, await response.text()

    async def failure(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
        """The code and message of a request that fails."""
        async with self.http.get(f"{PODS}/{path}", headers=headers) as response:
            found = await response.json()
            assert (found["kind"], found["code"]) == ("Status", response.status)
            return response.status, found["message"]

    @asynccontextmanager
    async def open(
        self,
        subresource: str,
        *,
        command: Sequence[str] = (),
        name: str = "web",
        stdin: bool = False,
        tty: bool = False,
        protocols: Iterable[str] = (V5,),
        **query: str,
    ) -> AsyncIterator[Session]:
        """Open an exec or attach."""
        parts = [("command", each) for each in command]
        parts += [("stdin", str(stdin).lower()), ("stdout", "true"), ("stderr", str(not tty).lower())]
        parts += [("tty", str(tty).lower()), *query.items()]
        url = f"{PODS}/{name}/{subresource}?{urlencode(parts)}"
        async with self.http.ws_connect(url, protocols=tuple(protocols), max_msg_size=0) as socket:
            yield Session(socket)

    async def exec(self, *command: str, stdin: bytes | None = None, **options: Any) -> Result:
        """Run a command to its end."""
        async with self.open("exec", command=command, stdin=stdin is not None, **options) as session:
            if stdin is not None:
                for start in range(0, len(stdin), 30_000):
                    await session.send(stdin[start : start + 30_000])
                await session.end_stdin()
            return await session.result()

    async def shell(self, script: str, stdin: bytes | None = None) -> Result:
        return await self.exec("sh", "-c", script, stdin=stdin)


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Remote]:
    """A client for the length of a block."""
    headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(server.url, headers=headers, timeout=timeout) as http:
        yield Remote(server, http)
