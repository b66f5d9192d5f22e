"""What a recording tells: changes, states of the cluster, reconciles, gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec

from masthead._meta.unstructured import Unstructured
from masthead._module import set_module
from masthead._recording.differences import FieldChange, compare_objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.plain import Plain
    from masthead._recording.entries import Change, Operation
    from masthead._recording.loader import LoadedRecording

__all__ = [
    "StateDifference",
    "ObservedChange",
    "RecordedGap",
    "RecordedKind",
    "RecordedReconcile",
    "RecordedState",
    "time_of",
]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(microseconds: int) -> datetime:
    """The moment of a recorded time."""
    return _EPOCH + timedelta(microseconds=microseconds)


@set_module("masthead.recording")
@dataclass(frozen=True, slots=True)
class RecordedKind:
    """A kind of a recording.

    Attributes:
        gvk: The kind.
        resource: The resource.
        namespaced: Whether its objects have namespaces.
        namespaces: The namespaces that were recorded; empty for all.
        short_names: The short names.
    """

    gvk: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool
    namespaces: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()


@set_module("masthead.recording")
@dataclass(frozen=True, slots=True)
class RecordedGap:
    """A time for which changes may be missing.

    Attributes:
        kind: The kind; None for all kinds.
        namespace: The namespace of the watch; empty for all.
        since: Its begin.
        until: Its end, when a list showed the state again.
        why: The reason.
    """

    kind: RecordedKind | None
    namespace: str
    since: datetime
    until: datetime
    why: str


@set_module("masthead.recording")
class ObservedChange:
    """A change of an object.

    Attributes:
        position: The number of the change in the recording, from 0; it orders all changes.
        time: When the recorder saw it.
        type: ``ADDED``, ``MODIFIED`` or ``DELETED``; ``STATE`` for an object that existed before the recording.
        kind: The kind.
        key: ``namespace/name``, or the name alone.
        is_listed: Whether a list showed it, not a watch: states before may be missing.
    """

    __slots__ = ("_index_key", "_loaded", "_read", "is_listed", "key", "kind", "position", "time", "type")

    def __init__(self, loaded: LoadedRecording, kind: RecordedKind, position: int) -> None:
        index = loaded.index
        self._loaded = loaded
        self._index_key = key = index.key(position)
        self._read: Change | None = None
        self.position: int = position
        self.time: datetime = time_of(index.times[position])
        self.type: Operation = index.operation(position)
        self.kind: RecordedKind = kind
        self.key: str = f"{key.namespace}/{key.name}" if key.namespace else key.name
        self.is_listed: bool = index.is_listed(position)

    def __repr__(self) -> str:
        return (
            f"<ObservedChange {self.position}: {self.type} {self.kind.gvk.kind} {self.key} at {self.time:%H:%M:%S.%f}>"
        )

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for a cluster-scoped one."""
        return self._index_key.namespace

    @property
    def name(self) -> str:
        """The object's name."""
        return self._index_key.name

    @property
    def uid(self) -> str:
        """The object's uid."""
        return self._line().uid

    @property
    def version(self) -> str:
        """The object's resource version after the change."""
        return self._line().version

    @property
    def object(self) -> Unstructured:
        """The object after the change; for a deletion, its last known state."""
        return Unstructured.from_wire(bytes(self._line().object))

    @property
    def json(self) -> bytes:
        """The same object as it was recorded."""
        return bytes(self._line().object)

    @property
    def before(self) -> Unstructured | None:
        """The object before the change; None if it did not exist, or that is not known."""
        found = self._loaded.index.before(self.position)
        return None if found is None else ObservedChange(self._loaded, self.kind, found).object

    def fields(self) -> Sequence[FieldChange]:
        """The fields that the change changed, with their field managers; empty for a new or deleted object."""
        # The object before a deletion is the deleted one, and a state has nothing before it.
        if self.type in {"DELETED", "STATE"}:
            return ()
        found = self._loaded.index.before(self.position)
        if found is None:
            return ()
        before = ObservedChange(self._loaded, self.kind, found)
        return compare_objects(before.plain(), self.plain())

    def plain(self) -> dict[str, Any]:
        """The object after the change as plain data."""
        return cast("Plain", msgspec.json.decode(self._line().object))

    def _line(self) -> Change:
        # Read once: several properties of one change are usually wanted.
        if self._read is None:
            self._read = cast("Change", self._loaded.line(self._loaded.index.place(self.position)))
        return self._read


@set_module("masthead.recording")
@dataclass(frozen=True, slots=True)
class StateDifference:
    """An object that differs between two moments.

    Attributes:
        kind: The kind.
        key: ``namespace/name``, or the name alone.
        type: ``added``, ``changed`` or ``removed``.
        fields: The fields that differ, with their field managers.
    """

    kind: RecordedKind
    key: str
    type: Literal["added", "changed", "removed"]
    fields: tuple[FieldChange, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.type} {self.kind.gvk.kind} {self.key}", *(f"  {each}" for each in self.fields)]
        return "\n".join(lines)


@set_module("masthead.recording")
class RecordedState:
    """The objects of a recording at one moment.

    Attributes:
        position: The position of the last change until then; -1 before the first.
        time: The time of that change; None before the first.
    """

    def __init__(self, loaded: LoadedRecording, kinds: Sequence[RecordedKind], position: int) -> None:
        self._loaded = loaded
        self._kinds = kinds
        self.position: int = position
        self.time: datetime | None = time_of(loaded.index.times[position]) if position >= 0 else None

    def __repr__(self) -> str:
        return f"<RecordedState at {self.position}, {self.time}>"

    def __iter__(self) -> Iterator[Unstructured]:
        return (change.object for change in self.changes())

    def __len__(self) -> int:
        return sum(1 for _ in self._loaded.index.present(self.position))

    def changes(
        self, kind: GroupVersionKind | GroupVersionResource | None = None, namespace: str | None = None
    ) -> Iterator[ObservedChange]:
        """Yield the change that made each object what it is at this moment.

        Args:
            kind: A kind or a resource; None for all.
            namespace: A namespace; None for all.
        """
        for found in self._loaded.index.present(self.position):
            key = self._loaded.index.key(found)
            recorded = self._kinds[key.kind]
            if kind in {None, recorded.gvk, recorded.resource} and namespace in {None, key.namespace}:
                yield ObservedChange(self._loaded, recorded, found)

    def objects(
        self, kind: GroupVersionKind | GroupVersionResource | None = None, namespace: str | None = None
    ) -> Iterator[Unstructured]:
        """Yield the objects of this moment.

        Args:
            kind: A kind or a resource; None for all.
            namespace: A namespace; None for all.
        """
        return (change.object for change in self.changes(kind, namespace))


@set_module("masthead.recording")
@dataclass(frozen=True, slots=True)
class RecordedReconcile:
    """A reconcile of a controller.

    Attributes:
        controller: The controller.
        key: ``namespace/name`` of the request, or the name alone.
        id: The id of the reconcile, as in the logs.
        queued: When its key was added to the queue; None if that is unknown.
        began: When it began.
        ended: When it ended.
        trigger: Why it ran: the event with ``kind``, ``name``, ``op`` and the changed ``fields``; or ``why``.
        reads: What it read, in order.
        writes: What it wrote, in order, with the answers.
        outcome: ``done``, ``requeued``, ``failed`` or ``cancelled``.
        requeue_after: Seconds until the next one; None for none.
        error: The exception with its traceback; empty for none.
        dropped: The number of further reads and writes.
    """

    controller: str
    key: str
    id: str
    queued: datetime | None
    began: datetime
    ended: datetime
    trigger: Mapping[str, object] = field(default_factory=dict[str, object])
    reads: tuple[Mapping[str, object], ...] = ()
    writes: tuple[Mapping[str, object], ...] = ()
    outcome: str = "done"
    requeue_after: float | None = None
    error: str = ""
    dropped: int = 0
