"""The life of a site, step by step, as a real server and the Website operator have it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from examples.website.website import DIRECTORY, Website

import masthead
import masthead.aio
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import ConfigMap, Service
from masthead.meta import is_condition_true

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead.metrics import Counter, Metric

NAMESPACE = "default"
_PATIENCE = 20.0
_POLL = 0.02


class ForbiddenCalls(masthead.metrics.NoMetrics):
    """Notes whether the server has forbidden anything."""

    def __init__(self) -> None:
        self.seen = False

    def counter(self, metric: Metric, **labels: str) -> Counter:
        if metric.name == "rest_client_requests_total" and labels["code"] == "403":
            self.seen = True
        return super().counter(metric, **labels)


class Life:
    """Leads a site through its life; ends early when something was forbidden.

    Args:
        client: An administrator's client.
        forbidden: What the operator was forbidden.
    """

    def __init__(self, client: masthead.aio.Client, forbidden: ForbiddenCalls) -> None:
        self._client = client
        self._forbidden = forbidden
        self._sites = client.resource(Website, NAMESPACE)

    async def run(self, name: str) -> bool:
        """Create a site, let it go up, down and up again, hide it, and delete it. Return whether all went well."""
        spec = {"image": "nginx", "replicas": 1}
        await self._sites.create(Website.new(name, spec=spec))
        steps: list[tuple[Callable[[], Awaitable[object]], Callable[[], Awaitable[bool]]]] = [
            (lambda: self._nothing(), lambda: self._is(name, up=False)),
            (lambda: self._ready(name, 1), lambda: self._is(name, up=True)),
            (lambda: self._ready(name, 0), lambda: self._is(name, up=False)),
            (lambda: self._ready(name, 1), lambda: self._is(name, up=True)),
            (lambda: self._hide(name), lambda: self._is_hidden(name)),
            (lambda: self._sites.delete(name), lambda: self._is_gone(name)),
        ]
        for act, is_done in steps:
            await act()
            if not await self._until(is_done):
                return False
        return True

    async def clean_up(self, name: str) -> None:
        """Remove what a life that has ended early has left behind."""
        for site in await self._sites.list():
            with suppress(masthead.NotFoundError):
                await self._sites.patch(site.metadata.name, masthead.Patch.merge({"metadata": {"finalizers": None}}))
                await self._sites.delete(site.metadata.name)
        for kind, made in ((Deployment, name), (Service, name), (ConfigMap, DIRECTORY)):
            with suppress(masthead.NotFoundError):
                await self._client.resource(kind, NAMESPACE).delete(made)

    async def _until(self, is_done: Callable[[], Awaitable[bool]]) -> bool:
        async with asyncio.timeout(_PATIENCE):
            while not self._forbidden.seen:
                if await is_done():
                    return True
                await asyncio.sleep(_POLL)
        return False

    async def _nothing(self) -> None: ...

    async def _ready(self, name: str, replicas: int) -> None:
        status = {"replicas": 1, "readyReplicas": replicas}
        await self._client.apps_v1.deployments(NAMESPACE).patch_status(name, masthead.Patch.merge({"status": status}))

    async def _hide(self, name: str) -> None:
        await self._sites.patch(name, masthead.Patch.merge({"spec": {"public": False}}))

    async def _is(self, name: str, *, up: bool) -> bool:
        site = await self._sites.get(name)
        conditions = site.status.conditions
        return bool(conditions) and is_condition_true(conditions, "Ready") == up

    async def _is_hidden(self, name: str) -> bool:
        site = await self._sites.get(name)
        service: Any = await self._find(Service, name)
        directory: Any = await self._find(ConfigMap, DIRECTORY)
        return site.status.url is None and service is None and directory is not None and name not in directory.data

    async def _is_gone(self, name: str) -> bool:
        return await self._find(Website, name) is None

    async def _find(self, kind: type[Any], name: str) -> object:
        try:
            return await self._client.resource(kind, NAMESPACE).get(name)
        except masthead.NotFoundError:
            return None
