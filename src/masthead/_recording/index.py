"""Where every change of a recording is: a row of numbers for each, so that the objects can stay in the file.

A row takes about 60 bytes. The rows of one object, in order, are its history.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead.errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead._recording.entries import Operation

__all__ = ["MAX_ROWS", "ChangeIndex", "ObjectKey", "LinePlace"]

MAX_ROWS: Final = 5_000_000
"""A file of a few kilobytes may hold millions of lines: more than these are refused."""

_OPERATIONS: Final[tuple[Operation, ...]] = ("STATE", "ADDED", "MODIFIED", "DELETED")
_DELETED: Final = _OPERATIONS.index("DELETED")
_LISTED: Final = 0x80


class ObjectKey(NamedTuple):
    """An object: the number of its kind, its namespace and its name."""

    kind: int
    namespace: str
    name: str


class LinePlace(NamedTuple):
    """Where a line is: the number of its frame, and its offset in the content."""

    frame: int
    offset: int


class ChangeIndex:
    """The rows of all changes. A row's number is the position of its change."""

    def __init__(self) -> None:
        self.times: array[int] = array("q")
        self._frames: Final = array("I")
        self._offsets: Final = array("I")
        self._flags: Final = array("B")
        self._objects: Final = array("I")
        self._keys: list[ObjectKey] = []
        self._numbers: dict[ObjectKey, int] = {}
        self._histories: list[array[int]] = []
        self._latest = 0

    def __len__(self) -> int:
        return len(self.times)

    def add(self, key: ObjectKey, op: Operation, time: int, place: LinePlace, *, listed: bool) -> int:
        """Add a change; return its position.

        Raises:
            RecordingError: If there are too many.
        """
        position = len(self.times)
        if position >= MAX_ROWS:
            raise RecordingError(f"it has more than {MAX_ROWS} changes; rotate recordings, and open fewer files")
        number = self._numbers.get(key)
        # Keys are stored once: a row refers to them by number.
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            self._histories.append(array("I"))
        # Clocks are set back; positions keep the order in which changes were seen.
        self._latest = max(self._latest, time)
        self.times.append(self._latest)
        self._frames.append(place.frame)
        self._offsets.append(place.offset)
        self._flags.append(_OPERATIONS.index(op) | (_LISTED if listed else 0))
        self._objects.append(number)
        self._histories[number].append(position)
        return position

    def key(self, position: int) -> ObjectKey:
        """The object of a change."""
        return self._keys[self._objects[position]]

    def operation(self, position: int) -> Operation:
        """What happened."""
        return _OPERATIONS[self._flags[position] & ~_LISTED]

    def is_listed(self, position: int) -> bool:
        """Whether a list showed it."""
        return bool(self._flags[position] & _LISTED)

    def place(self, position: int) -> LinePlace:
        """Where its line is; for a deletion that no line tells of, that of the state before."""
        return LinePlace(self._frames[position], self._offsets[position])

    def keys(self) -> Sequence[ObjectKey]:
        """All objects, in the order of their first change."""
        return self._keys

    def history(self, key: ObjectKey) -> Sequence[int]:
        """The positions of the changes of an object; empty for an unknown one."""
        number = self._numbers.get(key)
        return () if number is None else self._histories[number]

    def last(self, key: ObjectKey, position: int) -> int | None:
        """The position of the state of an object at a position; None if it did not exist."""
        history = self.history(key)
        # Histories are short, and sorted by construction.
        found = bisect_right(history, position) - 1
        if found < 0 or self._flags[history[found]] & ~_LISTED == _DELETED:
            return None
        return history[found]

    def before(self, position: int) -> int | None:
        """The position of the state that a change replaced; None if there was none."""
        return self.last(self.key(position), position - 1)

    def present(self, position: int) -> Iterator[int]:
        """The positions of the states of all objects that existed at a position."""
        for key in self._keys:
            if (found := self.last(key, position)) is not None:
                yield found

    def at_time(self, time: int) -> int:
        """The position of the last change until a time; -1 if there was none."""
        return bisect_right(self.times, time) - 1
