"""A server, a client behind a proxy, and a recorder, all in one loop in virtual time."""

from __future__ import annotations

import json
import math
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.real.informers_proxy import Proxy

import masthead.server
from masthead.aio import Client, EventRecorder
from masthead.config import from_kubeconfig
from masthead.testing.virtual_time import LoopClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.api.core.v1 import ConfigMap
    from masthead.api.events.v1 import Event
    from masthead.server import RecordedRequest, Server

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Cluster:
    """A server, and what the tests look at.

    Attributes:
        server: The server.
        client: A client of the proxy, as the recorder has it.
        direct: A client of the server.
        proxy: Lies between the client and the server.
        clock: The time of all of them.
        site: An object to record Events about.
        recorder: The recorder.
    """

    server: Server
    client: Client
    direct: Client
    proxy: Proxy
    clock: LoopClock
    site: ConfigMap
    recorder: EventRecorder

    async def create(self, name: str, namespace: str = "default") -> ConfigMap:
        """Create another object."""
        return await self.client.core_v1.config_maps(namespace).create({"metadata": {"name": name}})

    async def events(self) -> list[Event]:
        """The Events on the server, in the order of their creation."""
        found = await self.client.events_v1.events().list()
        return sorted(found, key=lambda event: int(event.metadata.resource_version))

    async def counts(self) -> dict[str, int]:
        """The number of occurrences by note, as the server has it."""
        return {event.note or "": event.series.count if event.series else 1 for event in await self.events()}

    def writes(self) -> list[tuple[str, str, int]]:
        """What was written: method, reason or name, and status code."""
        return [
            (request.method, self._about(request), request.code)
            for request in self.requests()
            if request.method != "GET"
        ]

    def requests(self) -> list[RecordedRequest]:
        """The requests about Events, the tests' own aside."""
        return [request for request in self.server.requests if "events" in request.path and request.info.verb != "list"]

    def _about(self, request: RecordedRequest) -> str:
        body: dict[str, Any] = json.loads(request.body or b"{}")
        return body.get("reason") or request.path.rpartition("/")[2]


@asynccontextmanager
async def cluster(**options: Any) -> AsyncIterator[Cluster]:
    """Run everything; options are those of the recorder."""
    clock = LoopClock(START)
    async with (
        masthead.server.run(clock=clock, bootstrap=False, controllers=False, event_ttl=math.inf) as server,
        Proxy(server.url) as proxy,
        Client(replace(from_kubeconfig(server.kubeconfig()), server=proxy.url)) as client,
        Client(from_kubeconfig(server.kubeconfig())) as direct,
    ):
        site = await client.core_v1.config_maps("default").create({"metadata": {"name": "site"}})
        async with EventRecorder(client, "operator", **{"clock": clock.now, "host": "node-1", **options}) as recorder:
            yield Cluster(server, client, direct, proxy, clock, site, recorder)
