"""Electors of an embedded server in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import masthead.aio
import masthead.server
from masthead.aio import LeaderElector
from masthead.testing.virtual_time import LoopClock, now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.aio import Client, Unstructured
    from masthead.aio.leaderelection import Leadership
    from masthead.server import Server


@dataclass
class Work:
    """Work that runs until it is cancelled.

    Attributes:
        title: Its name.
        log: What all works of a test do, with the time.
        stop_seconds: How long it takes to end.
    """

    title: str = "work"
    log: list[str] = field(default_factory=list)
    stop_seconds: float = 0.0
    leadership: Leadership | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, leadership: Leadership) -> str:
        self.leadership = leadership
        self.note("starts")
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.note("is cancelled")
            await asyncio.sleep(self.stop_seconds)
            self.note("ends")
            self.started.clear()
        return "unreachable"

    def note(self, what: str) -> None:
        self.log.append(f"{now():.0f} {self.title} {what}")


@dataclass(frozen=True)
class Running:
    """An elector that runs."""

    task: asyncio.Task[Any]


class Cluster:
    """A server, and clients of it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._stack = contextlib.AsyncExitStack()
        self._tasks: list[asyncio.Task[Any]] = []

    async def __aenter__(self) -> Self:
        self.client = await self.new_client()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.server.faults.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    async def new_client(self) -> Client:
        client = masthead.aio.Client(kubeconfig=self.server.kubeconfig())
        return await self._stack.enter_async_context(client)

    async def elector(self, identity: str, **options: Any) -> LeaderElector:
        """An elector with a client of its own."""
        return LeaderElector(await self.new_client(), "operator", "default", identity=identity, **options)

    def start(self, elector: LeaderElector, work: Any) -> Running:
        """Run an elector; it ends with the cluster."""
        task = asyncio.get_running_loop().create_task(elector.run(work))
        self._tasks.append(task)
        return Running(task)

    async def lease(self) -> Unstructured:
        """The Lease, as it is stored."""
        return await self.client.dynamic("coordination.k8s.io/v1", "leases", namespace="default").get("operator")

    async def holder(self) -> str:
        """The identity in the Lease."""
        return str((await self.lease())["spec"]["holderIdentity"])

    async def edit(self, **spec: object) -> None:
        """Change fields of the Lease, as an administrator does."""
        lease = await self.lease()
        lease["spec"] = {**lease["spec"], **spec}
        await self.client.dynamic("coordination.k8s.io/v1", "leases", namespace="default").update(lease)

    async def delete(self) -> None:
        """Delete the Lease."""
        await self.client.dynamic("coordination.k8s.io/v1", "leases", namespace="default").delete("operator")


@contextlib.asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """An embedded server in the time of the loop."""
    async with masthead.server.run(clock=LoopClock(), bootstrap=False) as server, Cluster(server) as running:
        yield running
