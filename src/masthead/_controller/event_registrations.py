"""Registrations of a controller at its informers, and retries of mappers that raised."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from masthead._controller.event_source import EnqueueHandler, OwnerKind
from masthead._controller.mapping_retries import MappingRetries
from masthead._controller.user_errors import with_user_frames
from masthead._errors.base import counted
from masthead._meta.registry import registry
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterable

    from masthead._cache.informer.informer import SharedInformer
    from masthead._cache.informer.registration import Registration
    from masthead._client.client import Client
    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.controller import Controller
    from masthead._controller.declarations import WatchSpec
    from masthead._controller.event_source import Enqueue
    from masthead._controller.user_errors import FailureLog, RepeatedFailure
    from masthead._meta.object import Object
    from masthead.metrics import Counter

__all__ = ["EventRegistrations", "find_owner_kind"]


class EventRegistrations:
    """Event handlers of one controller, from their start to their removal.

    Args:
        controller: The controller.
        reader: Its caches.
        enqueue: Called with the requests of events.
        log: Its logger.
        mapping_errors: Counts errors of mappers.
    """

    def __init__(
        self,
        controller: Controller[Any],
        reader: CacheReader,
        enqueue: Enqueue,
        log: logging.Logger,
        mapping_errors: Counter,
    ) -> None:
        self._controller = controller
        self._reader = reader
        self._enqueue = enqueue
        self._log = log
        self._mapping_errors = mapping_errors
        # Stored, because other threads ask what is pending, and have no loop.
        self._clock = asyncio.get_running_loop().time
        self._registrations: list[Registration] = []
        self._retries = MappingRetries(self._read_cache, self._report_mapping_failure)

    def start(
        self,
        informers: Iterable[tuple[WatchSpec, SharedInformer[Any]]],
        owner: OwnerKind,
        failures: FailureLog,
    ) -> None:
        """Add an event handler for every kind that the controller watches.

        Args:
            informers: The declared kinds with their informers.
            owner: The reconciled kind.
            failures: Records predicates that raise.
        """
        name = self._controller.name
        for spec, informer in informers:
            if spec.role == "reads":
                continue
            handler = EnqueueHandler(name, spec, owner, self._reader, self._enqueue, self._retries.add, failures)
            # Only the reconciled objects are resynced: their reconcile reads the others anyway.
            resync = self._controller.resync if spec.role == "for" else 0.0
            self._registrations.append(informer.add_event_handler(handler, resync=resync, name=f"{name} {spec.role}"))

    def leave(self) -> None:
        """Deliver no further events."""
        for registration in self._registrations:
            registration.remove_nowait()

    def cancel_retries(self) -> None:
        """Cancel all retries of mappers."""
        self._retries.clear()

    async def remove(self) -> None:
        """Remove all event handlers, after any running call."""
        for registration in self._registrations:
            await registration.remove()
        self._registrations.clear()

    def pending(self, retries_within: float) -> list[str]:
        """Describe undelivered events, and retries of mappers that are due within a number of seconds."""
        lines: list[str] = []
        # Retries count as pending, because their requests are not in the queue yet.
        if self._retries.is_due(self._clock() + retries_within):
            lines.append("a mapper that has raised is called again soon")
        lines += [
            f"{counted(registration.pending, 'event')} of {registration.name} not handled yet"
            for registration in self._registrations
            if registration.pending or not registration.has_synced
        ]
        return lines

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the failures of mappers that are to be retried."""
        return self._retries.failing()

    def _read_cache(self, handler: EnqueueHandler, key: str) -> Object | None:
        namespace, _, name = key.rpartition("/")
        return self._reader.get(handler.spec.kind, name, namespace)

    def _report_mapping_failure(self, source: EnqueueHandler, key: str, delay: float, error: Exception) -> None:
        self._mapping_errors.inc()
        self._log.error(
            "controller %s: the mapper of %s raised for %s, and is called again in %g s: %s",
            self._controller.name,
            source.resource.group_resource,
            key,
            delay,
            error,
            exc_info=with_user_frames(error),
        )


async def find_owner_kind(controller: Controller[Any], client: Client) -> OwnerKind:
    """Return the reconciled kind as owner references name it; ask the server about kinds without a class."""
    primary = controller.primary
    group = primary.resource.group
    # Classes know their scope; only other kinds need a request.
    if isinstance(primary.kind, type) and primary.kind.RESOURCE is not None:
        return OwnerKind(group, primary.kind.GVK.kind, namespaced=primary.kind.RESOURCE.namespaced)
    try:
        kind = registry.object_class(registry.kind_of(primary.resource))
    except UnknownKindError:
        served = await client.mapper.resource(primary.resource)
        return OwnerKind(group, served.kind, namespaced=served.namespaced)
    is_namespaced = kind.RESOURCE is None or bool(kind.RESOURCE.namespaced)
    return OwnerKind(group, kind.GVK.kind, namespaced=is_namespaced)
