"""Turns the events of informers into requests, by predicates, owners and mappers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead._cache.informer.handlers import EventHandler
from masthead._controller.declarations import positional_count
from masthead._controller.predicates import ChangeEvent
from masthead._controller.reconcile_observer import reconcile_observer
from masthead._controller.requests import Request
from masthead._controller.user_errors import describe_error, with_user_frames
from masthead._meta.gvk import GroupVersion
from masthead._meta.object import Object
from masthead._sansio.own_writes import ObjectChange
from masthead._sansio.workqueue import LOW_PRIORITY
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.declarations import WatchSpec
    from masthead._controller.user_errors import FailureLog
    from masthead._meta.gvk import GroupVersionResource

__all__ = ["Enqueue", "EnqueueHandler", "MappingFailureHandler", "OwnerKind", "requests_of"]

_log: Final = logging.getLogger("masthead.controller")


class Enqueue(Protocol):
    """Called with the requests of events."""

    def __call__(self, request: Request, change: ObjectChange | None, reason: str, priority: int) -> None:
        """Enqueue a request. The change is None for a reason other than a change of an object."""
        ...


class MappingFailureHandler(Protocol):
    """Called with the errors of mappers."""

    def __call__(self, source: EnqueueHandler, key: str, old: Object | None, error: Exception) -> None:
        """Handle the error of a mapper for an object, and for its old state; None if the object was added."""
        ...


class EnqueueHandler(EventHandler[Object]):
    """Receives the events of one informer, and enqueues the resulting requests.

    Args:
        controller: The name of the controller, for logs.
        spec: The watched kind.
        owner: The reconciled kind.
        reader: The caches, for mappers.
        enqueue: Called with the requests.
        on_mapping_failure: Called with the errors of the mapper.
        failures: Records predicates that raise.
    """

    def __init__(
        self,
        controller: str,
        spec: WatchSpec,
        owner: OwnerKind,
        reader: CacheReader,
        enqueue: Enqueue,
        on_mapping_failure: MappingFailureHandler,
        failures: FailureLog,
    ) -> None:
        self.spec = spec
        self._controller = controller
        self._owner = owner
        self._reader = reader
        self._enqueue = enqueue
        self._on_mapping_failure = on_mapping_failure
        self._failures = failures
        self._resource = spec.resource.group_resource
        self._takes_reader = spec.mapper is not None and positional_count(spec.mapper) > 1

    @property
    def resource(self) -> GroupVersionResource:
        """The watched resource."""
        return self.spec.resource

    def on_add(self, obj: Object, is_initial: bool) -> None:
        """Handle a new object."""
        self.observe(ChangeEvent(None, obj, is_initial=is_initial))

    def on_update(self, old: Object, new: Object) -> None:
        """Handle a change of an object, or its resync."""
        self.observe(ChangeEvent(old, new, is_resync=old is new))

    def on_delete(self, obj: Object, final_state_known: bool) -> None:  # noqa: ARG002 - either way it is gone
        """Handle the deletion of an object."""
        self.observe(ChangeEvent(obj, None))

    def observe(self, event: ChangeEvent) -> None:
        """Enqueue the requests of an event."""
        if self.spec.predicate is not None and not self._passes(event):
            return
        obj = event.object
        try:
            requests = self._requests(event)
        except Exception as error:  # noqa: BLE001 - a mapper is the user's
            self._on_mapping_failure(self, obj.key, event.old, error)
            return
        if not requests:
            return
        # Own writes are recognized by the versions before and after the change.
        change = ObjectChange(
            self._resource,
            obj.key,
            obj.metadata.uid,
            "" if event.old is None else event.old.metadata.resource_version,
            "" if event.new is None else event.new.metadata.resource_version,
        )
        # A resync is not a change, so it cannot be the event of an own write.
        counted = None if event.is_resync else change
        priority = LOW_PRIORITY if event.is_initial or event.is_resync else 0
        observer = reconcile_observer.get()
        for request in requests:
            reason = self._reason(event)
            if observer is not None:
                # Before the request is queued, or its reconcile might begin first.
                observer.note_event(self._controller, request, reason, self.spec.resource, event)
            self._enqueue(request, counted, reason, priority)

    def observe_again(self, key: str, objects: Iterable[Object]) -> None:
        """Enqueue the requests of an object and its old states after an error of the mapper.

        Raises:
            Exception: Whatever the mapper raises.
        """
        requests = {request for obj in objects for request in self._map(obj)}
        for request in requests:
            self._enqueue(request, None, f"{self._resource} {key} mapped again", 0)

    def _passes(self, event: ChangeEvent) -> bool:
        label = f"{self._controller} predicate of {self._resource} {event.object.key}"
        try:
            passes = self.spec.predicate is None or self.spec.predicate(event)
        except Exception as error:  # noqa: BLE001 - a predicate is the user's
            # A failing predicate must not lose a change.
            self._failures.add(label, error)
            _log.error(
                "controller %s: the predicate of %s raised for %s, which therefore counts as changed: %s",
                self._controller,
                self._resource,
                event.object.key,
                describe_error(error),
                exc_info=with_user_frames(error),
            )
            return True
        self._failures.clear(label)
        return passes

    def _requests(self, event: ChangeEvent) -> Iterable[Request]:
        if self.spec.role == "for":
            return (Request.of(event.object),)
        # Both states, because the object may have changed its owner.
        objects = [obj for obj in (event.old, event.new) if obj is not None]
        # Both states are the same object.
        if event.is_resync:
            objects = objects[:1]
        # In the order of the mapper, so that runs with one seed are equal in all processes.
        return dict.fromkeys(request for obj in objects for request in self._map(obj))

    def _map(self, obj: Object) -> Iterator[Request]:
        if self.spec.role == "owns":
            yield from self._owner.requests(obj, any_owner=self.spec.any_owner)
        elif self.spec.mapper is not None:
            found = self.spec.mapper(obj, self._reader) if self._takes_reader else self.spec.mapper(obj)
            yield from requests_of(found, namespaced=self._owner.namespaced)

    def _reason(self, event: ChangeEvent) -> str:
        what = (
            "exists"
            if event.is_initial
            else "resynced"
            if event.is_resync
            else "added"
            if event.old is None
            else "deleted"
            if event.new is None
            else "changed"
        )
        return f"{self._resource} {event.object.key} {what}"


class OwnerKind:
    """The reconciled kind in owner references.

    Args:
        group: Its group.
        kind: Its kind; None if it is unknown.
        namespaced: Whether it is namespaced.
    """

    def __init__(self, group: str, kind: str | None, *, namespaced: bool) -> None:
        self._group = group
        self._kind = kind
        self.namespaced = namespaced

    def requests(self, obj: Object, *, any_owner: bool) -> Iterator[Request]:
        """Yield requests for the owners of an object that have this kind."""
        for owner_reference in obj.metadata.owner_references:
            if not any_owner and not owner_reference.controller:
                continue
            if (
                owner_reference.kind == self._kind
                and GroupVersion.parse(owner_reference.api_version).group == self._group
            ):
                yield Request(obj.metadata.namespace if self.namespaced else "", owner_reference.name)


def requests_of(found: object, *, namespaced: bool) -> Iterator[Request]:
    """Yield the requests in the result of a mapper or a source: requests, keys or objects, one or several, or None.

    Args:
        found: The result.
        namespaced: Whether the reconciled kind is namespaced, so that keys include a namespace.

    Raises:
        ArgumentError: If the result has another type, or a key has the wrong scope.
    """
    if found is None:
        return
    if isinstance(found, Request):
        yield found
    elif isinstance(found, Object):
        yield Request.of(found)
    elif isinstance(found, str):
        yield _parse_key(found, namespaced=namespaced)
    elif isinstance(found, Iterable):
        for item in cast("Iterable[object]", found):
            yield from requests_of(item, namespaced=namespaced)
    else:
        raise ArgumentError(
            f"{found!r} does not say what to reconcile; return masthead.controller.Request(namespace, name), a key "
            "such as 'namespace/name', an object, several of them, or None",
            value=found,
        )


def _parse_key(key: str, *, namespaced: bool) -> Request:
    request = Request.parse(key)
    if bool(request.namespace) == namespaced:
        return request
    if namespaced:
        problem = f"{key!r} has no namespace, which the reconciled kind has; return 'namespace/name'"
    else:
        problem = f"{key!r} has a namespace, but the reconciled kind is cluster-scoped; return the name alone"
    raise ArgumentError(f"{problem}, masthead.controller.Request(namespace, name) or an object", value=key)
