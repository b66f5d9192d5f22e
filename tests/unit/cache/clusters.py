"""Clusters of informer tests: a source in memory, or the embedded server."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.unit.cache.fake_list_watch import FakeListWatch

from masthead._cache.informer.informer import SharedInformer
from masthead._meta.patch import Patch
from masthead._sansio.backoff import Backoff
from masthead.api.core.v1 import ConfigMap
from masthead.errors import AlreadyExistsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cache.informer.registration import Registration
    from masthead._client.client import Client
    from masthead.server import Server

QUICK = partial(Backoff, first=0.005, cap=0.02)
"""Delays for tests in real time."""


class Cluster(ABC):
    """ConfigMaps of one namespace, each with a value."""

    @property
    @abstractmethod
    def source(self) -> Any:
        """The source of an informer."""

    @abstractmethod
    async def put(self, name: str, value: str = "1") -> str:
        """Create an object, or change it; returns the version."""

    @abstractmethod
    async def remove(self, name: str) -> str:
        """Remove an object; return a version without it."""

    @abstractmethod
    async def state(self) -> dict[str, str]:
        """The values of all, by name."""

    def informer(self, **options: Any) -> SharedInformer[ConfigMap]:
        """An informer that does not wait for long after failures."""
        options.setdefault("backoff", QUICK)
        return SharedInformer(self.source, **options)


class FakeCluster(Cluster):
    """A source in memory."""

    def __init__(self) -> None:
        self._source = FakeListWatch()

    @property
    def source(self) -> FakeListWatch:
        return self._source

    async def put(self, name: str, value: str = "1") -> str:
        return self._source.put(name, value).metadata.resource_version

    async def remove(self, name: str) -> str:
        self._source.remove(name)
        return str(self._source.version)

    async def state(self) -> dict[str, str]:
        return self._source.state


class EmbeddedCluster(Cluster):
    """A namespace of the embedded server."""

    def __init__(self, server: Server, client: Client, namespace: str = "default") -> None:
        self.server = server
        self.client = client
        self.maps = client.core_v1.config_maps(namespace)

    @property
    def source(self) -> Any:
        return self.maps

    async def put(self, name: str, value: str = "1") -> str:
        try:
            made = await self.maps.create(ConfigMap.new(name, data={"value": value}))
        except AlreadyExistsError:
            made = await self.maps.patch(name, Patch.merge({"data": {"value": value}}))
        return made.metadata.resource_version

    async def remove(self, name: str) -> str:
        await self.maps.delete(name)
        return str(self.server.revision)

    async def state(self) -> dict[str, str]:
        return {item.metadata.name: item.data.get("value", "") for item in (await self.maps.list()).items}


def state_of(informer: SharedInformer[ConfigMap]) -> dict[str, str]:
    """The values in an informer's cache, by name."""
    return {obj.metadata.name: obj.data.get("value", "") for obj in informer.indexer.list()}


async def reached(informer: SharedInformer[ConfigMap], version: str, *registrations: Registration) -> None:
    """Wait until the cache has reached a resource version and these handlers have processed it."""
    await informer.wait_for_version(version, timeout=30)
    await processed(*registrations)


async def processed(*registrations: Registration) -> None:
    """Wait until handlers have processed everything."""
    await turns_until(lambda: not any(registration.pending for registration in registrations))


async def turns_until(is_so: Callable[[], bool]) -> None:
    """Yield to other tasks until a condition holds that has no event to wait for."""
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0)
