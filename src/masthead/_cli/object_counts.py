"""Counts the objects of all kinds, page by page, and follows their changes. Objects are not stored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from masthead._cli.failures import CommandError, explain
from masthead._cli.stats import KindStats
from masthead._errors.base import counted
from masthead._meta import typeinfo
from masthead.errors import DecodeError, ExpiredError, MastheadError, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead import aio
    from masthead._cli.failures import ExplainedFailure
    from masthead._discovery.model import ServedResource
    from masthead._transport.contract import Transport, TransportRequest, TransportResponse

__all__ = ["Census"]

_AT_ONCE: Final = 8
_PAGE: Final = "500"
_WATCHES: Final = 200
"""How many kinds are watched: those with the most objects."""
_UNAVAILABLE: Final = 500


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    items: list[msgspec.Raw] | None = None
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


class ConnectionMonitor:
    """A transport that knows whether the server answers.

    Args:
        inner: The transport.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.connection_error = ""

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request, and remember how that went."""
        try:
            response = await self._inner.send(request)
        except TransportError as error:
            self.connection_error = explain(error).line
            raise
        # A 5xx response may come from a load balancer whose server is down.
        self.connection_error = f"the server answers with {response.status}" if response.status >= _UNAVAILABLE else ""
        return response

    async def close(self) -> None:
        """Close the transport."""
        await self._inner.close()


class Census:
    """Counts objects, and their changes.

    Args:
        client: The client, before its first call.
        namespace: The namespace; None for all, and for cluster-scoped objects.
    """

    def __init__(self, client: aio.Client, namespace: str | None) -> None:
        self._client = client
        self._namespace = namespace
        self._versions: dict[str, str] = {}
        self._refusal: ExplainedFailure | None = None
        self.stats: dict[str, KindStats] = {}
        client.rest.wrap_transport(self._monitor)

    def _monitor(self, inner: Transport) -> Transport:
        self._connection = ConnectionMonitor(inner)
        return self._connection

    @property
    def connection_error(self) -> str:
        """The problem of the connection; empty without one."""
        return self._connection.connection_error

    async def kinds(self) -> list[ServedResource]:
        """The resources that can be listed.

        Raises:
            MastheadError: As any call.
        """
        served = await self._client.discovery.preferred_resources()
        listable = [resource for resource in served if "list" in resource.verbs]
        # Events are the same objects in two groups.
        return [
            resource
            for resource in listable
            if (resource.namespaced or self._namespace is None)
            and resource.gvr.group_resource != "events.events.k8s.io"
        ]

    async def count(self, kinds: list[ServedResource], on_done: Callable[[ServedResource], object]) -> None:
        """Count the objects of all kinds.

        Args:
            kinds: The kinds.
            on_done: Is called with each kind that is done.

        Raises:
            CommandError: If none could be counted.
        """
        limit = asyncio.Semaphore(_AT_ONCE)

        async def count_one(resource: ServedResource) -> None:
            async with limit:
                await self._count(resource)
                on_done(resource)

        async with asyncio.TaskGroup() as group:
            for kind in kinds:
                group.create_task(count_one(kind))
        # One readable kind is enough to show; many users may not list all kinds.
        if self._refusal is not None and not self._versions:
            raise CommandError(
                f"none of {counted(len(kinds), 'kind')} could be counted: {self._refusal.line}",
                hint=self._refusal.hint,
                code=self._refusal.code,
            )

    async def _count(self, resource: ServedResource) -> None:
        name = resource.gvr.group_resource
        self.stats[name] = found = KindStats(name)
        query, path = {"limit": _PAGE}, _path(resource, self._namespace)
        try:
            while True:
                response = await self._client.rest.get(path, query=query)
                page = _decode(response.body, name)
                found.objects += len(page.items or ())
                # The size of the raw JSON: objects are never decoded.
                found.size += sum(len(bytes(item)) for item in page.items or ())
                self._versions[name] = page.metadata.resource_version
                if not page.metadata.continue_:
                    return
                query = {"limit": _PAGE, "continue": page.metadata.continue_}
        # Continue tokens expire with the server's history, after about five minutes.
        except ExpiredError:
            found.note = "changed too fast to be counted to the end"
        except MastheadError as error:
            self._refusal = explain(error)
            found.note = self._refusal.line

    async def follow(self, kinds: list[ServedResource]) -> None:
        """Count changes, until it is cancelled.

        Args:
            kinds: The kinds that were counted.
        """
        listed = [kind for kind in kinds if kind.gvr.group_resource in self._versions]
        listed.sort(key=lambda kind: -self.stats[kind.gvr.group_resource].objects)
        # A bound on the connections; kinds with many objects change most.
        watched = [resource for resource in listed if "watch" in resource.verbs][:_WATCHES]
        for name in {resource.gvr.group_resource for resource in listed if resource not in watched}:
            self.stats[name].note = "not watched"
        async with asyncio.TaskGroup() as group:
            for resource in watched:
                group.create_task(self._follow(resource))

    async def _follow(self, resource: ServedResource) -> None:
        name = resource.gvr.group_resource
        place = self._namespace if resource.namespaced else None
        watched, version = self._client.dynamic(resource.gvr, namespace=place), self._versions[name]
        found = self.stats[name]
        try:
            async with watched.watch(resource_version=version) as events:
                async for event in events:
                    found.take(event.type, len(event.data))
        except MastheadError as error:
            found.note = f"no longer watched: {explain(error).line}"


def _decode(body: bytes, kind: str) -> _Page:
    try:
        return typeinfo.decode_json(body, _Page)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DecodeError(f"the list of {kind} cannot be read: {error}") from None


def _path(resource: ServedResource, namespace: str | None) -> str:
    gvr = resource.gvr
    root = f"/apis/{gvr.group}" if gvr.group else "/api"
    place = f"/namespaces/{quote(namespace, safe='')}" if namespace and resource.namespaced else ""
    return f"{root}/{gvr.version}{place}/{gvr.resource}"
