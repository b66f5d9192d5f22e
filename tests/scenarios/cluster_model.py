"""A server that can be stopped and started, and its writers."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from typing import TYPE_CHECKING, Any, Final

import masthead.aio
import masthead.server
from masthead.config import Config
from masthead.errors import ConfigError
from masthead.testing.virtual_time import LoopClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.scenarios.checking_handler import Plain
    from tests.scenarios.scenario import Resource

    from masthead._rest.client import RestClient
    from masthead.server import RecordedRequest, Server, ServerRunner

_FIRST_PORT, _PROCESSES, _PORTS = 20_000, 120, 100
"""Ports outside the ephemeral range, a hundred for each process of a run: otherwise another process could take one
while its server restarts."""
_cluster_numbers = itertools.count()
_KINDS: Final = {"configmaps": "ConfigMap", "pods": "Pod"}
_SPECS: Final[Mapping[str, Plain]] = {
    "configmaps": {"data": {"text": "some"}},
    "pods": {"spec": {"containers": [{"name": "one", "image": "one:1"}]}},
}


class ClusterModel:
    """A server on one port, through all its restarts.

    Args:
        resource: What is written.
        seed: Makes the objects' uids.
        data: A file to keep them in; None if no restart is to keep them.
        has_watch_list: Whether the server knows watches that begin with the state.

    Attributes:
        server: The server that runs, or ran last.
        clock: Its clock.
        there: The objects by key, as in the response to the write.
        written: Every object that there ever was, by uid and version.
        data: The file; of the first server without one, None.
    """

    server: Server
    rest: RestClient

    def __init__(
        self,
        resource: Resource = "configmaps",
        *,
        seed: int = 0,
        data: Path | None = None,
        has_watch_list: bool = True,
    ) -> None:
        self.resource = resource
        self.clock = LoopClock()
        self.there: dict[str, Plain] = {}
        self.written: dict[tuple[str, str], Plain] = {}
        self._folder = data
        self._data = data / "0" if data else None
        self._lives = 0
        self._seed = seed
        self._has_watch_list = has_watch_list
        self._running: ServerRunner | None = None
        self._port = 0
        self._count = itertools.count()
        self._requests: list[RecordedRequest] = []

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[masthead.aio.Client]:
        """Run the server, and give a client of it."""
        await self._start_anywhere()
        try:
            async with masthead.aio.Client(Config(server=self.server.url)) as client:
                self.rest = client.rest
                yield client
        finally:
            await self.stop()

    async def stop(self, *, crashes: bool = False) -> None:
        """Stop the server, gracefully or in the middle of a response."""
        running, self._running = self._running, None
        if running is not None:
            self._requests += self.server.requests
            for connection in self.server._http.connections if crashes else ():
                if connection.transport is not None:
                    connection.transport.abort()
            await running.__aexit__(None, None, None)

    async def start(self, *, keeps_data: bool, has_watch_list: bool = True) -> None:
        """Start the server again, on the same port."""
        if not keeps_data:
            self._lives += 1
            self._data = self._folder / str(self._lives) if self._folder else None
            self.there.clear()
        self._has_watch_list = has_watch_list
        await self._start()

    @property
    def requests(self) -> list[RecordedRequest]:
        """The lists and watches that all the servers have seen."""
        seen = [*self._requests, *(self.server.requests if self._running else ())]
        return [each for each in seen if each.info.verb in {"list", "watch"}]

    async def put(self, namespace: str, name: str, color: str) -> Plain:
        """Create an object, or change it if it is there."""
        number = str(next(self._count))
        if f"{namespace}/{name}" in self.there:
            change = {"metadata": {"labels": {"color": color}, "annotations": {"number": number}}}
            answer = await self.rest.patch(
                self._path(namespace, name), _written(change), content_type="application/merge-patch+json"
            )
        else:
            about = {"name": name, "labels": {"color": color}, "annotations": {"number": number}}
            answer = await self.rest.post(self._path(namespace), _written({"metadata": about, **_SPECS[self.resource]}))
        return self._note(answer.body)

    async def delete(self, namespace: str, name: str) -> None:
        """Delete an object; harmless if it is not there."""
        if self.there.pop(f"{namespace}/{name}", None):
            await self.rest.delete(self._path(namespace, name))

    async def state(self) -> dict[str, Plain]:
        """All objects by key, as the server lists them."""
        answer = await self.rest.get(f"/api/v1/{self.resource}")
        kind = {"apiVersion": "v1", "kind": _KINDS[self.resource]}
        items: list[Plain] = [{**kind, **each} for each in json.loads(answer.body)["items"]]
        return {f"{item['metadata']['namespace']}/{item['metadata']['name']}": item for item in items}

    def _note(self, body: bytes) -> Plain:
        made: Plain = json.loads(body)
        about = made["metadata"]
        self.there[f"{about['namespace']}/{about['name']}"] = made
        self.written[about["uid"], about["resourceVersion"]] = made
        return made

    def _path(self, namespace: str, name: str = "") -> str:
        return f"/api/v1/namespaces/{namespace}/{self.resource}{f'/{name}' if name else ''}"

    async def _start_anywhere(self) -> None:
        mine = _FIRST_PORT + os.getpid() % _PROCESSES * _PORTS
        for number in _cluster_numbers:
            self._port = mine + number % _PORTS
            with contextlib.suppress(ConfigError):  # the port is in use
                await self._start()
                return

    async def _start(self) -> None:
        running = masthead.server.run(
            port=self._port,
            token=None,
            controllers=False,
            bootstrap=False,
            clock=self.clock,
            data=self._data,
            seed=self._seed * 100 + self._lives,
            watch_list=self._has_watch_list,
        )
        self.server = await running.__aenter__()
        self._running = running


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()
