"""Follows the kinds of a cluster with informers, and writes their changes into a live history."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from masthead._cache.informer.handlers import EventHandler
from masthead._cache.informer.informer import SharedInformer
from masthead._meta.plain import entries, part, text
from masthead._meta.unstructured import Unstructured
from masthead._printers.custom import printer_of_version
from masthead._ui.history import HeldKind
from masthead.errors import ArgumentError, ForbiddenError, MastheadError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence

    from masthead import aio
    from masthead._discovery.model import ServedResource
    from masthead._meta.gvk import GroupVersionResource
    from masthead._printers.printer import Printer
    from masthead._recording.entries import Operation
    from masthead._ui.live_history import LiveHistory

__all__ = ["FollowedCluster", "follow_log", "printer_of", "status_of"]

_AT_ONCE: Final = 8
_MAX_KINDS: Final = 200
"""A bound on the connections: each kind has a watch."""
_TAIL: Final = 500
"""Lines of a log at its begin."""
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


class _Feeder(EventHandler[Unstructured]):
    """Writes the changes of a kind into a history."""

    def __init__(self, history: LiveHistory, kind: int) -> None:
        self._history = history
        self._kind = kind

    def _take(self, operation: Operation, obj: Unstructured) -> None:
        metadata = obj.metadata
        self._history.add(self._kind, metadata.namespace, metadata.name, operation, obj.to_json())

    def on_add(self, obj: Unstructured, is_initial: bool) -> None:
        self._take("STATE" if is_initial else "ADDED", obj)

    def on_update(self, old: Unstructured, new: Unstructured) -> None:
        # A resync changes nothing.
        if old.metadata.resource_version != new.metadata.resource_version:
            self._take("MODIFIED", new)

    def on_delete(self, obj: Unstructured, final_state_known: bool) -> None:  # noqa: ARG002 - the last state is enough
        self._take("DELETED", obj)


class FollowedCluster:
    """Follows kinds of a cluster.

    Args:
        client: The client.
        history: What gets the changes.
        namespace: The namespace; None for all, and for cluster-scoped objects.
    """

    def __init__(self, client: aio.Client, history: LiveHistory, namespace: str | None) -> None:
        self._client = client
        self._history = history
        self._namespace = namespace
        self._informers: list[SharedInformer[Unstructured]] = []
        self.problems: dict[str, str] = {}

    async def find(self, names: Iterable[str]) -> list[ServedResource]:
        """The resources with these names; without names, all that the user may list.

        Raises:
            UnknownKindError: If no kind has one of the names.
            ArgumentError: If a kind cannot be followed, or the user may list no kind.
            MastheadError: As any call.
        """
        # A kind that was named must be followed: an error is better than a page without it.
        wanted = [await self._client.mapper.find(name) for name in names]
        if wanted:
            for resource in wanted:
                if not {"list", "watch"} <= set(resource.verbs):
                    raise ArgumentError(f"{resource.name} cannot be watched", value=resource.name)
            return list({str(resource.gvr): resource for resource in wanted}.values())
        served = [resource for resource in await self._client.discovery.preferred_resources() if self._is_fit(resource)]
        allowed = await self._find_allowed(served)
        if not allowed:
            reasons = "; ".join(sorted(set(self.problems.values()))[:3])
            raise ArgumentError(f"no kind may be listed: {reasons or 'the server has none'}", value=self._namespace)
        for resource in allowed[_MAX_KINDS:]:
            self.problems[resource.gvr.group_resource] = "not followed: there are too many kinds; name those you need"
        return allowed[:_MAX_KINDS]

    def _is_fit(self, resource: ServedResource) -> bool:
        # Events are the same objects in two groups.
        is_twice = resource.gvr.group_resource == "events.events.k8s.io"
        is_here = resource.namespaced or self._namespace is None
        return {"list", "watch"} <= set(resource.verbs) and is_here and not is_twice

    async def _find_allowed(self, served: Sequence[ServedResource]) -> list[ServedResource]:
        """The resources that may be listed. An informer of others would only try again and again."""
        limit = asyncio.Semaphore(_AT_ONCE)
        refused: set[str] = set()

        async def ask(resource: ServedResource) -> None:
            async with limit:
                try:
                    await self._client.metadata(resource.gvr, namespace=self._place(resource)).list(limit=1)
                except ForbiddenError:
                    self.problems[resource.gvr.group_resource] = "may not be listed"
                    refused.add(str(resource.gvr))
                except MastheadError as error:
                    # Aggregated APIs come and go: their informers may have more luck.
                    self.problems[resource.gvr.group_resource] = str(error)

        async with asyncio.TaskGroup() as group:
            for resource in served:
                group.create_task(ask(resource))
        return [resource for resource in served if str(resource.gvr) not in refused]

    def _place(self, resource: ServedResource) -> str | None:
        return self._namespace if resource.namespaced else None

    @asynccontextmanager
    async def following(self, resources: Sequence[ServedResource]) -> AsyncGenerator[dict[int, Printer]]:
        """Follow resources during a block; yield the printers of kinds whose definitions are not followed."""
        numbers = {resource: self._history.add_kind(_kind_of(resource, self.problems)) for resource in resources}
        printers = await self._printers(numbers)
        async with AsyncExitStack() as stack:
            # Not one after the other: the page is open while they are listed.
            for resource, number in numbers.items():
                informer = SharedInformer(self._client.dynamic(resource.gvr, namespace=self._place(resource)))
                informer.add_event_handler(_Feeder(self._history, number))
                self._informers.append(await stack.enter_async_context(informer))
            yield printers

    async def _printers(self, numbers: Mapping[ServedResource, int]) -> dict[int, Printer]:
        """The printers of custom resources, unless their definitions are followed and tell more."""
        found: dict[int, Printer] = {}
        # Followed definitions tell more: their columns at every moment.
        if any(resource.gvr.group_resource == _DEFINITIONS for resource in numbers):
            return found
        for resource, number in numbers.items():
            if (printer := await printer_of(self._client, resource.gvr)) is not None:
                found[number] = printer
        return found

    def status(self) -> dict[str, object]:
        """The state of the connection."""
        return status_of(self._informers)

    async def logs(self, namespace: str, name: str, container: str) -> AsyncIterator[str]:
        """The log of a container, followed from its last lines."""
        async for line in follow_log(self._client, namespace, name, container):
            yield line


async def printer_of(client: aio.Client, resource: GroupVersionResource) -> Printer | None:
    """The printer of a custom resource; None for other kinds, and if its definition cannot be read."""
    if "." not in resource.group:
        return None
    definitions = client.dynamic("apiextensions.k8s.io/v1", "customresourcedefinitions")
    try:
        spec = part((await definitions.get(resource.group_resource)).to_dict(), "spec")
    except MastheadError:
        return None  # name and age have to do
    versions = entries(spec, "versions")
    return next((printer_of_version(each) for each in versions if text(each, "name") == resource.version), None)


def status_of(informers: Iterable[SharedInformer[Any]]) -> dict[str, object]:
    """The state of the connection of informers."""
    healths = [informer.health for informer in informers]
    # A watch that was just reopened has no failures yet.
    lost = [health for health in healths if not health.is_connected and health.failures]
    return {
        "error": " ".join(lost[0].last_error.split()) if lost else "",
        "loading": sum(not health.is_synced for health in healths),
    }


async def follow_log(client: aio.Client, namespace: str, name: str, container: str) -> AsyncIterator[str]:
    """The log of a container, followed from its last lines."""
    pods = client.core_v1.pods(namespace)
    # Without a container, the library chooses as kubectl does.
    async for line in pods.logs(name, container=container or None, follow=True, tail_lines=_TAIL):
        yield line


def _kind_of(resource: ServedResource, problems: Mapping[str, str]) -> HeldKind:
    held = HeldKind(
        resource.gvr.group,
        resource.gvr.version,
        resource.kind,
        resource.name,
        resource.namespaced,
        resource.short_names,
    )
    return replace(held, problem=problems.get(resource.gvr.group_resource, ""))
