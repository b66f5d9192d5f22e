"""A recording as a history."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, cast

from masthead._recording.loader import LoadedRecording
from masthead._recording.recording import find_parts
from masthead._ui.history import HeldKind, History, MissingTime, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from masthead._recording.entries import Change, Reconcile
    from masthead._recording.index import ObjectKey

__all__ = ["RecordedHistory"]


class RecordedHistory(History):
    """The history that a recording has.

    Args:
        path: The file; its further parts are found by their names.

    Raises:
        RecordingError: If it cannot be read, or is no recording.
        ConfigError: If zstandard is not installed, which Python needs before 3.14.
    """

    def __init__(self, path: Path) -> None:
        self._loaded = LoadedRecording(find_parts(path))
        self._index = self._loaded.index
        self._kinds = [
            HeldKind(kind.group, kind.version, kind.kind, kind.plural, kind.namespaced, tuple(kind.short_names))
            for kind in self._loaded.kinds
        ]
        operation, times = self._index.operation, self._index.times
        # Once, rather than for each question: a recording does not grow.
        positions = array("I", (at for at in range(len(times)) if operation(at) != "STATE"))
        self._ticks = positions, array("q", (times[at] for at in positions))
        self._reconcile_times = array("q", (time for time, _ in self._loaded.reconciles))
        self._numbers: dict[ObjectKey, int] = {}
        self._by_kind: dict[int, list[int]] = {}
        for number, key in enumerate(self._index.keys()):
            self._numbers[key] = number
            self._by_kind.setdefault(key.kind, []).append(number)

    @property
    def cut_off(self) -> str:
        """Why the end is missing; empty for a whole recording."""
        return self._loaded.cut_off

    def close(self) -> None:
        """Close the files."""
        self._loaded.close()

    @property
    def kinds(self) -> Sequence[HeldKind]:
        """The kinds, by number."""
        return self._kinds

    @property
    def first(self) -> int:
        """The first position: that of the state before the recording, if it has one."""
        # All objects that existed before are one moment, not a growing cluster.
        positions, _ = self.ticks
        return min(max(0, positions[0] - 1) if positions else self.latest, max(self.latest, 0))

    @property
    def latest(self) -> int:
        """The position of the last change; -1 without one."""
        return len(self._index) - 1

    @property
    def start(self) -> int:
        """When it begins."""
        head = self._loaded.head
        return head.time if head is not None else 0

    @property
    def end(self) -> int:
        """The time of its last entry."""
        return self._loaded.end

    def version(self, position: int) -> Version:
        """The change at a position."""
        return Version(position, self._index.times[position], self._index.operation(position))

    def number(self, position: int) -> int:
        """The number of the object of a change."""
        return self._numbers[self._index.key(position)]

    def key(self, number: int) -> ObjectKey | None:
        """An object by its number."""
        keys = self._index.keys()
        return keys[number] if 0 <= number < len(keys) else None

    def find(self, key: ObjectKey) -> int | None:
        """The number of an object."""
        return self._numbers.get(key)

    def numbers(self, kind: int | None = None) -> Iterable[int]:
        """The numbers of the objects of a kind; of all kinds for None."""
        return range(len(self._numbers)) if kind is None else self._by_kind.get(kind, ())

    def state(self, number: int, position: int) -> int | None:
        """The position of the state of an object at a position."""
        key = self.key(number)
        return None if key is None else self._index.last(key, position)

    def versions(self, number: int) -> Sequence[Version]:
        """The states of an object."""
        key = self.key(number)
        return [] if key is None else [self.version(position) for position in self._index.history(key)]

    def encoded(self, number: int, position: int) -> bytes:  # noqa: ARG002 - the position is enough here
        """The JSON of a state."""
        return bytes(cast("Change", self._loaded.line(self._index.place(position))).object)

    def at_time(self, time: int) -> int:
        """The position of the last change until a time."""
        return max(self.first, self._index.at_time(time))

    @property
    def ticks(self) -> tuple[Sequence[int], Sequence[int]]:
        """The positions and times of all changes, without the objects that existed before."""
        return self._ticks

    @property
    def reconciles(self) -> Sequence[int]:
        """The times at which reconciles ended."""
        return self._reconcile_times

    def reconcile(self, number: int) -> Reconcile:
        """A reconcile by its number."""
        return cast("Reconcile", self._loaded.line(self._loaded.reconciles[number][1]))

    @property
    def gaps(self) -> Sequence[MissingTime]:
        """The times for which changes may be missing."""
        return [MissingTime(gap.since, gap.until, gap.why) for gap in self._loaded.gaps]

    @property
    def facts(self) -> Mapping[str, object]:
        """The facts of its head."""
        head = self._loaded.head
        assert head is not None
        return {
            "server": head.server,
            "serverVersion": head.server_version,
            "redacted": head.redacted,
            "cutOff": self._loaded.cut_off,
        }
