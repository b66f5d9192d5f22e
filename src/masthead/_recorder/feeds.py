"""The changes of one informer, on their way to a recorder.

A feed is called under the gate of its informer, on an event loop: it appends to the backlog, and encodes nothing.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from masthead._cache.factory.selection import is_namespaced
from masthead._cache.informer.informer import pipeline_of
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._meta.resource import Resource
from masthead._recording.entries import KindLine, Listed
from masthead._sansio.changes import Delta, DeltaType
from masthead._sansio.handler_buffer import Notification, NotificationType
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead._cache.factory.selection import InformerKey
    from masthead._cache.informer.informer import SharedInformer
    from masthead._cache.store.storage import Stored
    from masthead._meta.gvk import GroupVersionResource
    from masthead._recorder.backlog import Backlog
    from masthead._recording.entries import Entry, Operation
    from masthead._sansio.changes import Change as CacheChange

__all__ = ["Changes", "InformerFeed", "FullState", "Item", "KindDetails", "Line", "RecordedList", "NewPart"]

_log: Final = logging.getLogger("masthead.recording")

_OPERATIONS: Final[Mapping[NotificationType, Operation]] = {
    NotificationType.ADD: "ADDED",
    NotificationType.UPDATE: "MODIFIED",
    NotificationType.DELETE: "DELETED",
}
_OVERHEAD: Final = 400
"""Bytes of a waiting change without its object."""
_UNKNOWN_SIZE: Final = 4096
_SHARED_SIZE: Final = 200
"""Bytes of a waiting reference to a listed object, which the store holds anyway."""

ObjectState: TypeAlias = "tuple[Operation, str, Stored]"
"""What happened, the object's key, and its stored value."""


class KindDetails(NamedTuple):
    """What discovery knows of a resource.

    Attributes:
        kind: The kind.
        namespaced: Whether its objects have namespaces.
        short_names: The short names.
    """

    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()


class Changes(NamedTuple):
    """Changes that a watch showed.

    Attributes:
        time: When, in microseconds.
        feed: The informer.
        states: The changed objects.
        listed: Whether a list showed them.
    """

    time: int
    feed: InformerFeed
    states: Sequence[ObjectState]
    listed: bool = False


class RecordedList(NamedTuple):
    """A list of a kind.

    Attributes:
        time: When.
        feed: The informer.
        scope: The namespace; empty for a single watch.
        since: The version until which all changes are known; empty for the first list.
        version: The version of the list.
        states: What differs.
        size: The number of objects.
        why: Why it was listed again.
    """

    time: int
    feed: InformerFeed
    scope: str
    since: str
    version: str
    states: Sequence[ObjectState]
    size: int
    why: str = ""


class FullState(NamedTuple):
    """All objects of an informer.

    Attributes:
        time: When.
        feed: The informer.
        items: The objects by key.
        versions: The versions of its scopes.
        is_continued: Whether all changes before are recorded.
        why: Why it is recorded again.
    """

    time: int
    feed: InformerFeed
    items: Mapping[str, Stored]
    versions: Mapping[str, str]
    is_continued: bool = False
    why: str = ""


class NewPart(NamedTuple):
    """The begin of a new file.

    Attributes:
        states: The state of every informer.
    """

    states: Sequence[FullState]


class Line(NamedTuple):
    """An entry of the recorder or the manager.

    Attributes:
        entry: The entry, or what the recorder's thread makes it with.
    """

    entry: Entry | Callable[[], Entry]


Item: TypeAlias = Changes | RecordedList | FullState | NewPart | Line


class InformerFeed:
    """Observes the store of one informer.

    Args:
        number: The number of its kind in the recording.
        key: The informer's key in its factory.
        informer: The informer.
        backlog: Receives the changes.
        now: Returns the time in microseconds.
        others: The feeds of the same resource, this one included.

    Attributes:
        number: The number of its kind.
        key: The informer's key in its factory.
        gate: Held while the store changes.
    """

    def __init__(
        self,
        number: int,
        key: InformerKey,
        informer: SharedInformer[Any],
        backlog: Backlog[Item],
        now: Callable[[], int],
        others: list[InformerFeed],
    ) -> None:
        self.number: Final = number
        self.key: Final = key
        pipeline = pipeline_of(informer)
        self._pipeline = pipeline
        self._processor = pipeline.store.processor
        self.storage: Final = pipeline.store.storage
        self.gate: Final = self._processor.gate
        self._backlog = backlog
        self._now = now
        self._others = others
        self._scopes: tuple[str, ...] = tuple(pipeline.sources)
        self._queued_list = ""

    @property
    def resource(self) -> GroupVersionResource:
        """The recorded resource."""
        return self.key.resource

    @property
    def is_taken(self) -> bool:
        """Whether another recorder records the informer."""
        return self._processor.observer not in {None, self}

    def attach(self) -> None:
        """Begin to observe, with the present state of the store."""
        # Under the gate: no change comes between the state and the first observed change.
        with self.gate:
            self._processor.observer = self
            if any(self._processor.store.version_of(scope) for scope in self._scopes):
                self._backlog.insert(self.full_state())

    def detach(self) -> None:
        """Observe no more."""
        with self.gate:
            if self._processor.observer is self:
                self._processor.observer = None

    def changed(self, changes: Sequence[CacheChange[Stored]], notifications: Sequence[Notification[Stored]]) -> None:
        """Queue changes of single objects."""
        try:
            is_listed = self._is_of_queued_list(changes)
            states = self._states(notifications)
            if states:
                weight = sum(_OVERHEAD + _size_of(stored) for _, _, stored in states)
                self._backlog.put(Changes(self._now(), self, states, is_listed), weight, len(states))
        except Exception:  # noqa: BLE001 - a defect of the recorder must not reach the cache
            self._lose(len(notifications))

    def replaced(self, scope: str, since: str, version: str, notifications: Sequence[Notification[Stored]]) -> None:
        """Queue a full list."""
        try:
            states = self._states(notifications)
            count = len(self._processor.stored(scope)) if since else len(states)
            why = self._explain(scope, has_differences=bool(states)) if since else ""
            item = RecordedList(self._now(), self, scope, since, version, states, count, why)
            # Not the size of the objects, which the store holds anyway.
            self._backlog.put(item, _SHARED_SIZE * len(states) + _OVERHEAD, len(states) or 1)
        except Exception:  # noqa: BLE001 - a defect of the recorder must not reach the cache
            self._lose(len(notifications))

    def reselected(self) -> None:
        """Record the state again, without objects of other shards."""
        self._backlog.insert(self.full_state(why="other shards are selected"))

    def full_state(self, *, is_continued: bool = False, why: str = "") -> FullState:
        """The present state; under the gate."""
        store = self._processor.store
        versions = {scope: version for scope in self._scopes if (version := store.version_of(scope))}
        return FullState(self._now(), self, store.copy_items(), versions, is_continued, why)

    def end(self) -> None:
        """Note the watches that are broken at the end: their last changes are missing."""
        with self.gate:
            for scope, status in zip(self._scopes, self._pipeline.statuses, strict=False):
                version = self._processor.store.version_of(scope)
                # Not by an open watch: the informer may have been stopped before its recorder.
                if status.failures and version:
                    gap = Listed(
                        time=self._now(),
                        kind=self.number,
                        scope=scope,
                        since=version,
                        version=version,
                        is_gap=True,
                        count=len(self._processor.stored(scope)),
                        why=f"the watch was broken when the recording ended ({status.error})",
                    )
                    self._backlog.insert(Line(gap))

    def scope_of(self, key: str) -> str:
        """The scope of an object."""
        return self._processor.scope_of(key)

    def kind_line(self, time: int, details: KindDetails | None, sample: Object | None) -> KindLine:
        """The line about the kind.

        Args:
            time: The time.
            details: What discovery knows; None if nothing.
            sample: An object, for kinds that only their objects name.
        """
        resource, selectors = self.resource, dict(self.key.selectors)
        return KindLine(
            time=time,
            number=self.number,
            group=resource.group,
            version=resource.version,
            kind=details.kind if details is not None else self._kind_name(sample),
            plural=resource.resource,
            namespaced=details.namespaced if details is not None else self._is_namespaced(sample),
            namespaces=list(self.key.namespaces),
            label_selector=selectors.get("labelSelector", ""),
            field_selector=selectors.get("fieldSelector", ""),
            short_names=list(details.short_names if details is not None else self._short_names()),
        )

    def _kind_name(self, sample: Object | None) -> str:
        try:
            return registry.kind_of(self.resource).kind
        except UnknownKindError:
            # Without an object, only discovery could tell.
            return self.resource.resource if sample is None else sample.kind or sample.gvk.kind

    def _short_names(self) -> Sequence[str]:
        kind = self.key.kind
        declared = getattr(kind, "RESOURCE", None) if isinstance(kind, type) else None
        return declared.short_names if isinstance(declared, Resource) else ()

    def _is_namespaced(self, sample: Object | None) -> bool:
        known = is_namespaced(self.key.kind)
        if known is None:
            return sample is None or bool(sample.metadata.namespace)
        return known

    def _lose(self, changes: int) -> None:
        _log.exception("changes of %s are not recorded; its state is recorded again", self.key.name)
        self._backlog.lose(changes)

    def _states(self, notifications: Sequence[Notification[Stored]]) -> list[ObjectState]:
        # Without the old states, which the backlog would keep alive.
        states: list[ObjectState] = []
        for notification in notifications:
            stored = notification.new if notification.new is not None else notification.old
            if notification.type in _OPERATIONS and stored is not None:
                states.append((_OPERATIONS[notification.type], notification.key, stored))
        return states if len(self._others) == 1 else [state for state in states if self._is_news(state)]

    def _is_news(self, state: ObjectState) -> bool:
        """Whether no other informer of the resource has recorded a change, or still has the object that is deleted."""
        operation, key, stored = state
        for other in self._others:
            if other is self:
                continue
            # Without the other gate: a reader sees a whole object, of this moment or of the last.
            known = other._processor.store.get(key)  # noqa: SLF001 - of this class
            if known is None:
                continue
            if operation == "DELETED" or other.storage.version(known) == self.storage.version(stored):
                return False
        return True

    def _is_of_queued_list(self, changes: Sequence[CacheChange[Stored]]) -> bool:
        """Whether a list of an informer with a queue showed changes; the first of a list is a gap."""
        delta = changes[-1]
        if not isinstance(delta, Delta) or delta.type is not DeltaType.REPLACED:
            return False
        if delta.version != self._queued_list:
            since, self._queued_list = self._queued_list, delta.version
            why = self._explain("", has_differences=True) if since else ""
            count = len(self._processor.store)
            self._backlog.put(RecordedList(self._now(), self, "", since, delta.version, (), count, why), _OVERHEAD)
        return True

    def _explain(self, scope: str, *, has_differences: bool) -> str:
        """The reason for another list, if it is known."""
        statuses = dict(zip(self._scopes, self._pipeline.statuses, strict=False))
        error = statuses[scope].error if scope in statuses else ""
        why = f"the watch was lost ({error})" if error else "the watch was lost"
        return (
            f"{why}, and the kind listed again" if has_differences else f"{why}; the list after it differs in nothing"
        )


def _size_of(stored: Stored) -> int:
    # Compressed objects are bytes; unpacking them here would cost the event loop more than the estimate is worth.
    if isinstance(stored, bytes):
        return len(stored)
    source = stored.wire_bytes if isinstance(stored, Object) else None
    return _UNKNOWN_SIZE if source is None else len(source)
