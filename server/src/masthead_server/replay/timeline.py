"""The order, the versions and the times of the changes of a recording.

A recorder watches each kind on its own, so that it may see changes of two kinds in another order than the server made
them. Versions tell that order::

    seen:    pods 7, pods 9, maps 8          (maps 8 was seen last)
    played:  pods 7, maps 8, pods 9          (8 happened before 9 was seen)

So a change is due when it or any later one was seen, whichever was first.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timedelta
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._recording.recording import resolve_time
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._recording.recording import RecordedMoment, Recording
    from masthead._recording.states import ObservedChange

__all__ = ["Point", "Step", "Timeline"]

_version_of = attrgetter("version")


class Step(NamedTuple):
    """A change to play.

    Attributes:
        version: The version of the write.
        position: The position of the change in the recording.
        due: When it is due.
    """

    version: int
    position: int
    due: datetime


class Point(NamedTuple):
    """A moment: the number of steps before it, and its time."""

    steps: int
    time: datetime


class Timeline:
    """The steps of a recording.

    Args:
        recording: The recording.

    Attributes:
        steps: The steps, by version.
        begin: The first moment at which the state is complete.
        end: The end of the recording.

    Raises:
        RecordingError: If it cannot be read.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording: Final = recording
        reader = _Reader(recording)
        changes = reader.read()
        # From the end: everything before a change that was seen is due by then.
        due = list(accumulate((change.time for change in reversed(changes)), min))[::-1]
        self.steps: Final = [
            Step(change.version, change.position, time) for change, time in zip(changes, due, strict=True)
        ]
        self._seen: Final = _newest_versions(self.steps)
        complete = max(reader.initial, default=0)
        self.begin: Final = self._point(complete, recording.start)
        self.end: Final = Point(len(self.steps), max(recording.end, self.begin.time))

    def find(self, moment: RecordedMoment) -> Point:
        """Return a moment; one before the begin, while the recorder read the first state, is the begin.

        Raises:
            ArgumentError: If it is malformed, or outside of the recording.
        """
        if isinstance(moment, str) and moment.isdecimal():
            return self._find_version(int(moment))
        position = self._recording.position_of(moment)
        newest = self._seen[position] if position >= 0 else 0
        # A position has no time of its own: that of its change counts.
        if isinstance(moment, int):
            return max(self.begin, self._point(newest, self.begin.time))
        time = resolve_time(moment, self._recording.start)
        if not self._recording.start <= time <= self.end.time:
            raise self._outside(f"{time:%Y-%m-%dT%H:%M:%S.%fZ}", moment)
        return max(self.begin, self._point(newest, time)._replace(time=max(time, self.begin.time)))

    def _find_version(self, version: int) -> Point:
        first = self.steps[self.begin.steps - 1].version if self.begin.steps else 0
        last = self.steps[-1].version if self.steps else 0
        if not first <= version <= last:
            raise ArgumentError(
                f"version {version} is outside of the recording, which has {first} to {last}", value=str(version)
            )
        return max(self.begin, self._point(version, self.begin.time))

    def _point(self, version: int, earliest: datetime) -> Point:
        """The moment after the last step until a version."""
        steps = bisect_right(self.steps, version, key=_version_of)
        return Point(steps, max(earliest, self.steps[steps - 1].due) if steps else earliest)

    def _outside(self, text: str, moment: RecordedMoment) -> ArgumentError:
        start, end = self._recording.start, self.end.time
        return ArgumentError(
            f"{text} is outside of the recording, which has {start:%Y-%m-%dT%H:%M:%S.%fZ} to "
            f"{end:%Y-%m-%dT%H:%M:%S.%fZ} (+{(end - start) / timedelta(seconds=1):g}s)",
            value=moment,
        )


def _newest_versions(steps: Sequence[Step]) -> list[int]:
    """Return the newest version until each position."""
    versions = [step.version for step in sorted(steps, key=attrgetter("position"))]
    return list(accumulate(versions, max))


class _Seen(NamedTuple):
    """A recorded change without its object, which stays in the file."""

    version: int
    position: int
    time: datetime


class _Reader:
    """Reads the versions of all changes.

    Attributes:
        initial: The versions of the objects that existed before the recording.
    """

    def __init__(self, recording: Recording) -> None:
        self.initial: list[int] = []
        self._recording = recording
        self._numbered: list[_Seen] = []
        self._unknown: list[tuple[int, _Seen]] = []
        self._used: set[int] = set()
        self._newest = 0
        self._changed: datetime | None = None

    def read(self) -> list[_Seen]:
        """Return the changes in the order of their versions.

        A deletion from a list, or with the version of the state before, gets a version that no change has.
        """
        for position in range(len(self._recording)):
            self._add(self._recording.change(position))
        for after, seen in self._unknown:
            free = after + 1
            while free in self._used:
                free += 1
            self._used.add(free)
            self._numbered.append(seen._replace(version=free))
        return sorted(self._numbered)

    def _add(self, change: ObservedChange) -> None:
        is_known = change.version.isdecimal()
        if change.type == "DELETED":
            is_known = is_known and not change.is_listed and int(change.version) not in self._used
        seen = _Seen(int(change.version) if is_known else 0, change.position, change.time)
        if is_known:
            self._numbered.append(seen)
            self._used.add(seen.version)
            self._newest = max(self._newest, seen.version)
        else:
            self._unknown.append((self._newest, seen))
        if change.type != "STATE":
            self._changed = self._changed or change.time
        # The first list of a new kind has objects that were created since the begin of the recording.
        elif self._changed is None or change.time <= self._changed or _creation_time(change) <= self._recording.start:
            self.initial.append(seen.version)


def _creation_time(change: ObservedChange) -> datetime:
    text = change.plain().get("metadata", {}).get("creationTimestamp")
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return change.time
