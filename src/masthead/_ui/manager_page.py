"""The page of a running manager: what its informers hold, and its reconciles, from the start on."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from masthead._cache.factory.factory import follow_informers, server_of
from masthead._cache.factory.selection import is_namespaced
from masthead._cache.informer.handlers import EventHandler
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._ui.followed_cluster import follow_log, printer_of, status_of
from masthead._ui.history import HeldKind
from masthead._ui.live_history import LiveHistory
from masthead._ui.server import LIMITS, address_of
from masthead._ui.service import Service
from masthead._ui.sessions import Gate
from masthead.errors import ClosedError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from masthead import aio
    from masthead._cache.factory.factory import SharedInformerFactory
    from masthead._cache.factory.selection import InformerKey
    from masthead._cache.informer.informer import SharedInformer
    from masthead._endpoint.http_limits import ServerLimits
    from masthead._endpoint.http_requests import EndpointRequest, EndpointResponse
    from masthead._meta.gvk import GroupVersionResource
    from masthead._recording.entries import Operation, Reconcile

__all__ = ["LiveManagerPage"]

_log: Final = logging.getLogger("masthead.ui")

_PATIENCE: Final = 5.0
"""Seconds for the definition of a custom resource; without it, its columns are name and age."""


class LiveManagerPage:
    """Shows a manager: a `ManagerPage` of the controllers' layer.

    Args:
        name: The name of the manager.
        client: Its client.
        factory: Its informers.
        host: The host of the address.
    """

    def __init__(self, name: str, client: aio.Client, factory: SharedInformerFactory, host: str) -> None:
        self._client = client
        self._factory = factory
        self._host = host
        self._gate = Gate(host)
        self._history = LiveHistory(_microseconds, facts={"server": server_of(factory)})
        self._service = Service(self._history, self._gate, self, title=name)
        self._kinds: dict[GroupVersionResource, _HeldObjects] = {}
        self._informers: list[SharedInformer[Any]] = []
        self._seen: set[tuple[object, ...]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def limits(self) -> ServerLimits:
        """The limits of the server that serves it."""
        return LIMITS

    def address(self, port: int) -> str:
        """The address for the browser, with the token that opens it."""
        return address_of(self._gate, self._host, port)

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Return the response to a request."""
        return await self._service.handle(request)

    def take_reconcile(self, make: Callable[[], Reconcile], size: int) -> None:  # noqa: ARG002 - the line is smaller
        """Show a reconcile that has ended."""
        try:
            self._history.add_reconcile(make())
        except Exception:  # noqa: BLE001 - a defect of the page must not reach the controller
            _log.exception("a reconcile is missing on the page")

    @asynccontextmanager
    async def following(self) -> AsyncGenerator[None]:
        """Follow the informers during a block, including later ones."""
        loop = asyncio.get_running_loop()

        def follow(key: InformerKey, informer: SharedInformer[Any]) -> None:
            # Plain reconcilers create informers from their threads.
            with suppress(RuntimeError):  # the loop is closed, and the page with it
                loop.call_soon_threadsafe(self._begin, key, informer)

        unfollow = follow_informers(self._factory, follow)
        try:
            yield
        finally:
            unfollow()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, key: InformerKey, informer: SharedInformer[Any]) -> None:
        # Two forms of one selection hold the same objects: the first one is enough.
        identity = (key.resource, key.namespaces, key.selectors)
        if identity in self._seen:
            return
        self._seen.add(identity)
        self._informers.append(informer)
        held = self._kinds.get(key.resource)
        if held is None:
            held = self._kinds[key.resource] = _HeldObjects(self._history, key)
        held.informers.append(informer)
        task = asyncio.get_running_loop().create_task(self._follow(held, key, informer), name="masthead page")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, held: _HeldObjects, key: InformerKey, informer: SharedInformer[Any]) -> None:
        # Before the objects: their rows are made once.
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                if (printer := await printer_of(self._client, key.resource)) is not None:
                    self._service.digests.extra_printers[held.number] = printer
        with suppress(ClosedError):  # it has stopped
            informer.add_event_handler(_Feeder(held, informer), resync=0, name="ui")

    def status(self) -> dict[str, object]:
        """The state of the connection."""
        return status_of(self._informers)

    async def logs(self, namespace: str, name: str, container: str) -> AsyncIterator[str]:
        """The log of a container, followed from its last lines."""
        async for line in follow_log(self._client, namespace, name, container):
            yield line


class _HeldObjects:
    """The objects of a kind, which several informers with different selectors may hold.

    Attributes:
        number: The number of the kind.
        informers: The informers of the kind.
    """

    def __init__(self, history: LiveHistory, key: InformerKey) -> None:
        self._history = history
        self._versions: dict[str, str] = {}
        resource = key.resource
        try:
            kind = registry.kind_of(resource).kind
        except UnknownKindError:
            kind = ""
        self._held = HeldKind(
            resource.group,
            resource.version,
            kind or resource.resource,
            resource.resource,
            is_namespaced(key.kind) is not False,
        )
        self._is_known = bool(kind)
        self.number = history.add_kind(self._held)
        self.informers: list[SharedInformer[Any]] = []

    def change(self, operation: Operation, obj: Object) -> None:
        """Add a change, unless another informer has added it."""
        key, version = obj.key, obj.metadata.resource_version
        if self._versions.get(key) == version:
            return
        self._versions[key] = version
        self._add(operation, obj)

    def delete(self, obj: Object, holder: SharedInformer[Any]) -> None:
        """Add a deletion, unless another informer still has the object, which then left a selection only."""
        if any(other.indexer.get_by_key(obj.key) is not None for other in self.informers if other is not holder):
            return
        if self._versions.pop(obj.key, None) is not None:
            self._add("DELETED", obj)

    def _add(self, operation: Operation, obj: Object) -> None:
        # Kinds without a class have their name from their objects.
        if not self._is_known:
            self._is_known = True
            self._held = replace(self._held, kind=obj.kind or self._held.kind, namespaced=bool(obj.metadata.namespace))
            self._history.replace_kind(self.number, self._held)
        self._history.add(self.number, obj.metadata.namespace, obj.metadata.name, operation, obj.to_json())


class _Feeder(EventHandler[Object]):
    """Takes the changes of one informer."""

    def __init__(self, held: _HeldObjects, informer: SharedInformer[Any]) -> None:
        self._held = held
        self._informer = informer

    def on_add(self, obj: Object, is_initial: bool) -> None:
        self._held.change("STATE" if is_initial else "ADDED", obj)

    def on_update(self, old: Object, new: Object) -> None:  # noqa: ARG002 - the new state is enough
        self._held.change("MODIFIED", new)

    def on_delete(self, obj: Object, final_state_known: bool) -> None:  # noqa: ARG002 - the last state is enough
        self._held.delete(obj, self._informer)


def _microseconds() -> int:
    return time.time_ns() // 1_000
