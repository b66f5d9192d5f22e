"""A cluster in virtual time, whose pods write logs, and whose connections are cut."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import masthead.aio
import masthead.server
from masthead.config import Config
from masthead.testing.virtual_time import LoopClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.aio import Client
    from masthead.server import Server


def pod(name: str, *containers: str, restart_policy: str = "Always", **metadata: Any) -> dict[str, Any]:
    """A pod with these containers."""
    listed = [{"name": container, "image": "image"} for container in containers or ("app",)]
    return {
        "metadata": {"name": name, "labels": {"app": "web"}, **metadata},
        "spec": {"containers": listed, "restartPolicy": restart_policy},
    }


@dataclass
class LogCluster:
    """A server and a client of it."""

    server: Server
    client: Client

    @property
    def pods(self) -> Any:
        return self.client.core_v1.pods("default")

    async def start(self, name: str, *containers: str, **options: Any) -> None:
        """Create a pod, and start it."""
        await self.pods.create(pod(name, *containers, **options))
        self.server.kubelet.start(name)

    def write(self, name: str, *lines: object, container: str | None = None) -> None:
        """Have a container write lines."""
        text = "".join(f"{line}\n" for line in lines)
        self.server.kubelet.log(name, container=container).write(text)


@asynccontextmanager
async def log_cluster(**options: Any) -> AsyncIterator[LogCluster]:
    async with (
        masthead.server.run(token=None, bootstrap=False, clock=LoopClock(), **options) as server,
        masthead.aio.Client(Config(server=server.url)) as client,
    ):
        yield LogCluster(server, client)


async def take(stream: Any, count: int) -> list[Any]:
    """The next items of a stream."""
    async with asyncio.timeout(3600):
        return [await anext(stream) for _ in range(count)]


async def rest(stream: Any) -> list[Any]:
    """All further items of a stream, which must end."""
    async with asyncio.timeout(3600):
        return [item async for item in stream]
