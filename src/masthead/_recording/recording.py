"""Reads recordings: what happened, and what the cluster was at any moment."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._meta.resource import Resource
from masthead._module import set_module
from masthead._recording.differences import compare_objects
from masthead._recording.index import ObjectKey
from masthead._recording.loader import LoadedRecording
from masthead._recording.states import (
    ObservedChange,
    RecordedGap,
    RecordedKind,
    RecordedReconcile,
    RecordedState,
    StateDifference,
    time_of,
)
from masthead.errors import ArgumentError, RecordingError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from masthead._recording.entries import Change, Reconcile

__all__ = ["RecordedKindLike", "RecordedMoment", "Recording", "find_parts", "resolve_time"]

RecordedMoment: TypeAlias = datetime | timedelta | int | str
"""A moment of a recording: a time; an offset from its begin; the position of a change; or text.

Text is a resource version, such as ``"5123"``; a time in ISO 8601; or an offset, such as ``"+90s"`` or ``"+5m"``.
"""

RecordedKindLike: TypeAlias = "RecordedKind | GroupVersionKind | GroupVersionResource | type[Object] | str"
"""A kind: one of the recording, its GVK or resource, a class, or text, such as ``pods``, ``po`` or ``Deployment``."""

_OFFSET: Final = re.compile(r"\+(\d+(?:\.\d+)?)(ms|s|m|h)")
_MAX_DIGITS: Final = 20
_MAX_SECONDS: Final = 1e10
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PART: Final = re.compile(r"\.(\d+)$")


@set_module("masthead.recording")
class Recording:
    """A recording, opened for reading; several files of a rotation are one recording.

    ::

        with Recording("incident.mhr") as recording:
            for change in recording.history("websites", "shop", "shop"):
                print(change.time, change.type, *change.fields())

    Its index is in memory, about 100 bytes for each change; the objects stay in the file. A file that was cut off is
    read up to its last whole frame; `cut_off` tells so.

    Threads: any.
    """

    def __init__(self, path: str | PathLike[str] | Iterable[str | PathLike[str]]) -> None:
        """Open a recording.

        Args:
            path: The file, with its further parts in the same folder; or several files, in their order.

        Raises:
            RecordingError: If it cannot be read, or is no recording.
            ConfigError: If zstandard is not installed, which Python needs before 3.14.
        """
        if isinstance(path, str | PathLike):
            self._paths = find_parts(Path(fspath(path)))
        else:
            self._paths = [Path(each) for each in path]
        self._loaded = LoadedRecording(self._paths)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Recording {self._paths[0]}: {len(self)} changes, {self.start} to {self.end}>"

    def __len__(self) -> int:
        """The number of changes, with the objects that existed before."""
        return len(self._loaded.index)

    def close(self) -> None:
        """Close the files. Objects cannot be read any more."""
        self._loaded.close()

    @property
    def paths(self) -> Sequence[Path]:
        """The files."""
        return self._paths

    @property
    def start(self) -> datetime:
        """When it begins."""
        head = self._loaded.head
        assert head is not None
        return time_of(head.time)

    @property
    def end(self) -> datetime:
        """The time of its last entry."""
        return time_of(self._loaded.end)

    @property
    def server_version(self) -> str:
        """The version of the server, as ``v1.36.4``; empty if it is unknown."""
        head = self._loaded.head
        return head.server_version if head is not None else ""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels, which the recorder got from its user."""
        head = self._loaded.head
        return head.labels if head is not None else {}

    @property
    def redacted(self) -> Sequence[str]:
        """The rules by which values were redacted; empty if nothing was."""
        head = self._loaded.head
        return head.redacted if head is not None else ()

    @property
    def cut_off(self) -> str:
        """Why the end is missing; empty for a whole recording."""
        return self._loaded.cut_off

    @cached_property
    def kinds(self) -> Sequence[RecordedKind]:
        """The kinds."""
        return [
            RecordedKind(
                GroupVersionKind(kind.group, kind.version, kind.kind),
                GroupVersionResource(kind.group, kind.version, kind.plural),
                kind.namespaced,
                tuple(kind.namespaces),
                tuple(kind.short_names),
            )
            for kind in self._loaded.kinds
        ]

    @property
    def gaps(self) -> Sequence[RecordedGap]:
        """The times for which changes may be missing."""
        return [
            RecordedGap(
                self.kinds[gap.kind] if gap.kind >= 0 else None,
                gap.scope,
                time_of(gap.since),
                time_of(gap.until),
                gap.why,
            )
            for gap in self._loaded.gaps
        ]

    def change(self, position: int) -> ObservedChange:
        """The change at a position.

        Raises:
            ArgumentError: If there is no such position.
        """
        if not 0 <= position < len(self):
            raise ArgumentError(f"there is no change {position}; there are 0 to {len(self) - 1}", value=position)
        return ObservedChange(self._loaded, self.kinds[self._loaded.index.key(position).kind], position)

    def changes(
        self,
        kind: RecordedKindLike | None = None,
        namespace: str | None = None,
        *,
        since: RecordedMoment | None = None,
        until: RecordedMoment | None = None,
    ) -> Iterator[ObservedChange]:
        """Yield the changes, in the order in which they were seen.

        Args:
            kind: A kind, a resource, a class or text such as ``pods``; None for all.
            namespace: A namespace; None for all.
            since: Only what came after this moment; None for the begin.
            until: Only what came until this moment; None for the end.

        Raises:
            ArgumentError: If a moment is not one of the recording, or the kind was not recorded.
        """
        wanted = None if kind is None else self._number(kind)
        first = self.position_of(since) + 1 if since is not None else 0
        last = self.position_of(until) if until is not None else len(self) - 1
        index = self._loaded.index
        for position in range(first, last + 1):
            key = index.key(position)
            if wanted in {None, key.kind} and namespace in {None, key.namespace}:
                yield ObservedChange(self._loaded, self.kinds[key.kind], position)

    def at(self, moment: RecordedMoment) -> RecordedState:
        """The cluster at a moment.

        Raises:
            ArgumentError: If the moment is not one of the recording.
        """
        return RecordedState(self._loaded, self.kinds, self.position_of(moment))

    def history(
        self, kind: RecordedKindLike | Object, name: str | None = None, namespace: str = ""
    ) -> Sequence[ObservedChange]:
        """The changes of one object, deletions and new objects of the same name included; empty for an unknown one.

        Args:
            kind: A kind, a resource, a class or text such as ``pod``; or the object itself.
            name: The object's name.
            namespace: Its namespace; empty for a cluster-scoped one.

        Raises:
            ArgumentError: If the name is missing, or the kind was not recorded.
        """
        if isinstance(kind, Object):
            number, namespace = self._number(kind.gvk), kind.metadata.namespace or ""
            name = kind.metadata.name or ""
        else:
            number = self._number(kind)
        if not name:
            raise ArgumentError("history needs the name of an object", value=name)
        positions = self._loaded.index.history(ObjectKey(number, namespace, name))
        return [ObservedChange(self._loaded, self.kinds[number], position) for position in positions]

    def diff(
        self, first: RecordedMoment, second: RecordedMoment, kind: RecordedKindLike | None = None
    ) -> Sequence[StateDifference]:
        """What differs between two moments, object by object, with the field managers; ``str`` of each is its text.

        Args:
            first: The earlier moment.
            second: The later moment.
            kind: A kind, a resource, a class or text such as ``pods``; None for all.

        Raises:
            ArgumentError: If a moment is not one of the recording, or the kind was not recorded.
        """
        wanted = None if kind is None else self._number(kind)
        before, after = (self._states(moment) for moment in (first, second))
        changes: list[StateDifference] = []
        for key in sorted({**before, **after}):
            old, new = before.get(key), after.get(key)
            if old == new or wanted not in {None, key.kind}:
                continue
            changes += self._differences(key, old, new)
        return changes

    def _states(self, moment: RecordedMoment) -> Mapping[ObjectKey, int]:
        """The position of the state of each object at a moment."""
        index = self._loaded.index
        return {index.key(found): found for found in index.present(self.position_of(moment))}

    def _differences(self, key: ObjectKey, old: int | None, new: int | None) -> Iterator[StateDifference]:
        kind = self.kinds[key.kind]
        name = f"{key.namespace}/{key.name}" if key.namespace else key.name
        if old is None:
            yield StateDifference(kind, name, "added")
        elif new is None:
            yield StateDifference(kind, name, "removed")
        else:
            before, after = ObservedChange(self._loaded, kind, old), ObservedChange(self._loaded, kind, new)
            if before.uid != after.uid:
                yield StateDifference(kind, name, "removed")
                yield StateDifference(kind, name, "added")
            elif fields := compare_objects(before.plain(), after.plain()):
                yield StateDifference(kind, name, "changed", tuple(fields))

    def reconciles(self, controller: str | None = None) -> Iterator[RecordedReconcile]:
        """Yield the reconciles of the recorded manager, in the order of their ends.

        Args:
            controller: The name of a controller; None for all.
        """
        for _, place in self._loaded.reconciles:
            line = cast("Reconcile", self._loaded.line(place))
            if controller in {None, line.controller}:
                yield _reconcile_of(line)

    def position_of(self, moment: RecordedMoment) -> int:
        """The position of the last change until a moment; -1 for a moment before the first.

        Raises:
            ArgumentError: If the moment is not one of the recording.
        """
        if isinstance(moment, bool) or not isinstance(cast("object", moment), int | str | datetime | timedelta):
            raise ArgumentError(f"{moment!r} is no moment of a recording", value=moment)
        if isinstance(moment, int):
            if not -1 <= moment < len(self):
                raise ArgumentError(f"there is no change {moment}; there are 0 to {len(self) - 1}", value=moment)
            return moment
        if isinstance(moment, str) and moment.isdecimal() and len(moment) <= _MAX_DIGITS:
            return self._position_of_version(moment)
        time = resolve_time(moment, self.start)
        # A mistyped moment would otherwise look like one after which nothing happened.
        if time > self.end and not isinstance(moment, datetime):
            raise ArgumentError(f"{moment} is after the end of the recording, {self.end.isoformat()}", value=moment)
        return self._loaded.index.at_time(round((time - _EPOCH) / timedelta(microseconds=1)))

    def _position_of_version(self, version: str) -> int:
        """The position of the last change with a version that is not newer."""
        wanted, newest, found = int(version), 0, -1
        for position in range(len(self)):
            line = cast("Change", self._loaded.line(self._loaded.index.place(position)))
            if not line.version.isdecimal() or len(line.version) > _MAX_DIGITS:
                continue
            newest = max(newest, int(line.version))
            if int(line.version) <= wanted:
                found = position
        if wanted > newest:
            raise ArgumentError(f"version {version} is after the last one of the recording, {newest}", value=version)
        return found

    def find_kind(self, text: str) -> RecordedKind:
        """The kind that a user writes: ``pods``, ``pod``, ``po``, ``deployments.apps`` or ``Deployment``.

        Raises:
            ArgumentError: If it was not recorded.
        """
        # Kubernetes writes resources in lower case, and people kinds in either.
        wanted = text.lower()
        for known in self.kinds:
            group, kind = known.gvk.group, known.gvk.kind.lower()
            names = {known.resource.resource, kind, *known.short_names}
            if wanted in names or (group and wanted in {f"{name}.{group}" for name in names}):
                return known
        # A recorder without discovery does not know the short names of built-in kinds.
        for known in self.kinds:
            if wanted in _short_names(known.gvk):
                return known
        raise ArgumentError(f"no {text} were recorded; recorded are {self._kinds_as_text()}", value=text)

    def _kinds_as_text(self) -> str:
        return ", ".join(sorted(known.resource.resource for known in self.kinds)) or "no kinds"

    def _number(self, kind: RecordedKindLike) -> int:
        if isinstance(kind, str):
            return self.kinds.index(self.find_kind(kind))
        wanted = kind.GVK if isinstance(kind, type) else kind
        for number, known in enumerate(self.kinds):
            if wanted in {known, known.gvk, known.resource}:
                return number
        raise ArgumentError(f"{wanted} was not recorded; recorded are {self._kinds_as_text()}", value=kind)


def _short_names(gvk: GroupVersionKind) -> Sequence[str]:
    """The short names of a kind that this program knows."""
    try:
        declared: object = getattr(registry.class_of(gvk), "RESOURCE", None)
    except UnknownKindError:
        return ()
    return declared.short_names if isinstance(declared, Resource) else ()


def resolve_time(moment: datetime | timedelta | str, start: datetime) -> datetime:
    """The time that a moment names, which is neither a position nor a version.

    Args:
        moment: The moment.
        start: The begin of the recording.

    Raises:
        ArgumentError: If a text names none.
    """
    if isinstance(moment, timedelta):
        try:
            return start + moment
        except OverflowError:
            raise ArgumentError(f"{moment} is no offset within a recording", value=moment) from None
    if isinstance(moment, datetime):
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if match := _OFFSET.fullmatch(moment):
        seconds = float(match[1]) * _SECONDS[match[2]]
        return resolve_time(timedelta(seconds=min(seconds, _MAX_SECONDS)), start)
    try:
        return resolve_time(datetime.fromisoformat(moment), start)
    except ValueError:
        raise ArgumentError(
            f"{moment!r} is no moment of a recording: write a time as 2026-01-31T12:00:00Z, an offset from its begin "
            "as +90s, or a resource version",
            value=moment,
        ) from None


def find_parts(path: Path) -> list[Path]:
    """The files of a rotation: a file, and the files of the same name with a number behind it, in their order.

    Raises:
        RecordingError: If there is no such file.
    """
    numbered = sorted(
        (int(match[1]), each)
        for each in path.parent.glob(f"{_escape_glob(path.name)}.*")
        if (match := _PART.search(each.name)) and each.name == f"{path.name}.{match[1]}"
    )
    parts = [*([path] if path.exists() else []), *(each for _, each in numbered)]
    if not parts:
        raise RecordingError(f"the recording {path} does not exist")
    return parts


def _escape_glob(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _reconcile_of(line: Reconcile) -> RecordedReconcile:
    return RecordedReconcile(
        line.controller,
        f"{line.namespace}/{line.name}" if line.namespace else line.name,
        line.id,
        time_of(line.queued) if line.queued else None,
        time_of(line.began),
        time_of(line.time),
        line.trigger,
        tuple(line.reads),
        tuple(line.writes),
        line.outcome,
        line.requeue_after if line.requeue_after >= 0 else None,
        line.error,
        line.dropped,
    )
