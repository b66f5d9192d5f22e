"""The last changes of a cluster, compressed in memory.

::

    forgotten changes │ changes, at most `max_changes` and `max_bytes` │ the present
                      first                                          latest

The state of each object at `first` stays: later moments consist of it. Of a manager's reconciles, the last ones are
remembered, as the lines of a recording.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from masthead._recording.entries import Reconcile, decode_line, encode_line
from masthead._recording.index import ObjectKey
from masthead._ui.history import HeldKind, History, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from masthead._recording.entries import Operation

__all__ = ["LiveHistory"]

_MAX_CHANGES: Final = 50_000
_MAX_BYTES: Final = 64 << 20
_MAX_RECONCILES: Final = 20_000
_MAX_RECONCILE_BYTES: Final = 16 << 20
_LEVEL: Final = 1
"""Of zlib: higher levels take three times as long, for a tenth of the size."""
_position_of: Final = attrgetter("position")


class _Life:
    """The states of an object that are remembered."""

    __slots__ = ("bodies", "key", "versions")

    def __init__(self, key: ObjectKey) -> None:
        self.key = key
        self.versions: list[Version] = []
        self.bodies: list[bytes] = []


class LiveHistory(History):
    """A history that grows, and forgets its oldest changes.

    It belongs to one event loop.

    Args:
        now: Returns the time in microseconds since 1970.
        max_changes: How many changes are remembered.
        max_bytes: How many bytes their states take, compressed, beyond those of the present.
        max_reconciles: How many reconciles are remembered.
        max_reconcile_bytes: How many bytes they take.
        facts: Facts about the cluster.
    """

    is_live = True

    def __init__(
        self,
        now: Callable[[], int],
        *,
        max_changes: int = _MAX_CHANGES,
        max_bytes: int = _MAX_BYTES,
        max_reconciles: int = _MAX_RECONCILES,
        max_reconcile_bytes: int = _MAX_RECONCILE_BYTES,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self._now = now
        self._max_changes = max_changes
        self._max_bytes = max_bytes
        self._max_reconciles = max_reconciles
        self._max_reconcile_bytes = max_reconcile_bytes
        self._facts = facts or {}
        self._kinds: list[HeldKind] = []
        self._first = 0
        self._times = array("q")
        self._numbers = array("I")
        self._lives: dict[int, _Life] = {}
        self._known: dict[ObjectKey, int] = {}
        self._by_kind: list[dict[int, None]] = []
        self._next_number = 0
        self._past = 0
        self._tick_positions = array("q")
        self._tick_times = array("q")
        self._first_reconcile = 0
        self._reconcile_times = array("q")
        self._reconcile_lines: list[bytes] = []
        self._reconcile_bytes = 0
        self._began = now()
        self.on_change: Callable[[], object] = _nothing

    def add_kind(self, kind: HeldKind) -> int:
        """Add a kind; return its number."""
        self._kinds.append(kind)
        self._by_kind.append({})
        return len(self._kinds) - 1

    def replace_kind(self, number: int, kind: HeldKind) -> None:
        """Replace the description of a kind."""
        self._kinds[number] = kind

    def add(self, kind: int, namespace: str, name: str, operation: Operation, encoded: bytes) -> int:
        """Add a change; return its position."""
        key = ObjectKey(kind, namespace, name)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = self._next_number
            self._next_number += 1
            self._lives[number] = _Life(key)
            self._by_kind[kind][number] = None
        position = self._first + len(self._times)
        # Clocks are set back; positions keep the order.
        time = max(self._now(), self._times[-1] if self._times else 0)
        life = self._lives[number]
        life.versions.append(Version(position, time, operation))
        life.bodies.append(zlib.compress(encoded, _LEVEL))
        self._times.append(time)
        self._numbers.append(number)
        self._count_past(life)
        if operation != "STATE":
            self._tick_positions.append(position)
            self._tick_times.append(time)
        self._forget()
        self.on_change()
        return position

    def _count_past(self, life: _Life) -> None:
        """Count the states that the last change of an object has replaced."""
        if len(life.versions) > 1 and life.versions[-2].operation != "DELETED":
            self._past += len(life.bodies[-2])
        # The last state of a deleted object is history from the beginning.
        if life.versions[-1].operation == "DELETED":
            self._past += len(life.bodies[-1])

    def _forget(self) -> None:
        """Forget the oldest changes while there are too many."""
        while len(self._times) > self._max_changes or (self._past > self._max_bytes and len(self._times) > 1):
            # A tenth in one step, because each step moves all others.
            count = max(1, len(self._times) // 10)
            numbers = self._numbers[:count]
            self._first += count
            del self._times[:count], self._numbers[:count]
            for number in numbers:
                if number in self._lives:
                    self._shorten(number, self._lives[number])
            passed = bisect_right(self._tick_positions, self._first - 1)
            del self._tick_positions[:passed], self._tick_times[:passed]

    def _shorten(self, number: int, life: _Life) -> None:
        """Drop the states of an object before the one at `first`."""
        # The state at `first` may be older than `first`.
        base = max(0, bisect_right(life.versions, self._first, key=_position_of) - 1)
        is_gone = life.versions[base].position < self._first and life.versions[base].operation == "DELETED"
        base += is_gone
        self._past -= sum(map(len, life.bodies[:base]))
        del life.versions[:base], life.bodies[:base]
        # Names of pods and jobs never return: without this, the dictionaries would grow for ever.
        if not life.versions:
            del self._lives[number], self._known[life.key], self._by_kind[life.key.kind][number]

    def add_reconcile(self, entry: Reconcile) -> None:
        """Add a reconcile that has ended."""
        if self._reconcile_times:
            entry.time = max(entry.time, self._reconcile_times[-1])
        line = encode_line(entry)
        self._reconcile_times.append(entry.time)
        self._reconcile_lines.append(line)
        self._reconcile_bytes += len(line)
        if len(self._reconcile_lines) > self._max_reconciles or self._reconcile_bytes > self._max_reconcile_bytes:
            count = max(1, len(self._reconcile_lines) // 10)
            self._first_reconcile += count
            self._reconcile_bytes -= sum(map(len, self._reconcile_lines[:count]))
            del self._reconcile_lines[:count], self._reconcile_times[:count]
        self.on_change()

    @property
    def past_bytes(self) -> int:
        """The bytes of all states that are not the present ones, compressed."""
        return self._past

    @property
    def kinds(self) -> Sequence[HeldKind]:
        """The kinds, by number."""
        return self._kinds

    @property
    def first(self) -> int:
        """The first position that is remembered."""
        return self._first

    @property
    def latest(self) -> int:
        """The position of the last change."""
        return self._first + len(self._times) - 1

    @property
    def start(self) -> int:
        """The time of the first change that is remembered."""
        return self._times[0] if self._first else self._began

    @property
    def end(self) -> int:
        """The present."""
        return max(self._now(), self._times[-1] if self._times else 0)

    def version(self, position: int) -> Version:
        """The change at a position."""
        life = self._lives[self.number(position)]
        return life.versions[bisect_right(life.versions, position, key=_position_of) - 1]

    def number(self, position: int) -> int:
        """The number of the object of a change."""
        return self._numbers[position - self._first]

    def key(self, number: int) -> ObjectKey | None:
        """An object by its number; None if it is forgotten."""
        life = self._lives.get(number)
        return None if life is None else life.key

    def find(self, key: ObjectKey) -> int | None:
        """The number of an object."""
        return self._known.get(key)

    def numbers(self, kind: int | None = None) -> Iterable[int]:
        """The numbers of the objects of a kind; of all kinds for None."""
        return list(self._lives) if kind is None else list(self._by_kind[kind])

    def state(self, number: int, position: int) -> int | None:
        """The position of the state of an object at a position."""
        life = self._lives.get(number)
        if life is None:
            return None
        versions = life.versions
        # Most questions are about the present.
        found = len(versions) - 1
        if versions[found].position > position:
            found = bisect_right(versions, position, key=_position_of) - 1
        if found < 0 or versions[found].operation == "DELETED":
            return None
        return versions[found].position

    def versions(self, number: int) -> Sequence[Version]:
        """The states of an object that are remembered."""
        life = self._lives.get(number)
        return () if life is None else tuple(life.versions)

    def encoded(self, number: int, position: int) -> bytes:
        """The JSON of a state."""
        life = self._lives[number]
        return zlib.decompress(life.bodies[bisect_right(life.versions, position, key=_position_of) - 1])

    def at_time(self, time: int) -> int:
        """The position of the last change until a time."""
        return max(self._first, self._first + bisect_right(self._times, time) - 1)

    @property
    def ticks(self) -> tuple[Sequence[int], Sequence[int]]:
        """The positions and times of the changes that are remembered."""
        return self._tick_positions, self._tick_times

    @property
    def reconciles(self) -> Sequence[int]:
        """The times at which the remembered reconciles ended."""
        return self._reconcile_times

    @property
    def first_reconcile(self) -> int:
        """The number of the first remembered reconcile."""
        return self._first_reconcile

    def reconcile(self, number: int) -> Reconcile:
        """A remembered reconcile by its number."""
        found = decode_line(self._reconcile_lines[number - self._first_reconcile])
        assert isinstance(found, Reconcile)
        return found

    @property
    def facts(self) -> Mapping[str, object]:
        """Facts about the cluster."""
        return self._facts


def _nothing() -> None:
    """Do nothing."""
