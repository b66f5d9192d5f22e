"""What the page reads: kinds, and the changes of their objects, at positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead._meta.plain import Plain
    from masthead._recording.entries import Operation, Reconcile
    from masthead._recording.index import ObjectKey

__all__ = ["HeldKind", "History", "MissingTime", "Version"]


@dataclass(frozen=True, slots=True)
class HeldKind:
    """A kind of a history.

    Attributes:
        group: The API group; empty for core.
        version: The version of the group.
        kind: The kind.
        plural: The resource.
        namespaced: Whether its objects have namespaces.
        short_names: The short names.
        problem: Why it is not complete; empty if it is.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """A state in the life of an object.

    Attributes:
        position: The position of the change that made it.
        time: The time of the change, in microseconds since 1970.
        operation: What happened.
    """

    position: int
    time: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class MissingTime:
    """A time for which changes may be missing.

    Attributes:
        since: Its begin, in microseconds since 1970.
        until: Its end.
        why: The reason.
    """

    since: int
    until: int
    why: str


class History(ABC):
    """Changes by position, and the state of every object at each of them.

    An object keeps its number. Positions before `first` are forgotten: the last state there counts as that at `first`.
    """

    is_live: bool = False

    @property
    @abstractmethod
    def kinds(self) -> Sequence[HeldKind]:
        """The kinds, by number."""

    @property
    @abstractmethod
    def first(self) -> int:
        """The first position."""

    @property
    @abstractmethod
    def latest(self) -> int:
        """The position of the last change; `first` - 1 without one."""

    @property
    @abstractmethod
    def start(self) -> int:
        """When it begins, in microseconds since 1970."""

    @property
    @abstractmethod
    def end(self) -> int:
        """When it ends; for a live one, the present."""

    @abstractmethod
    def version(self, position: int) -> Version:
        """The change at a position."""

    @abstractmethod
    def number(self, position: int) -> int:
        """The number of the object of a change."""

    @abstractmethod
    def key(self, number: int) -> ObjectKey | None:
        """An object by its number; None if it is forgotten."""

    @abstractmethod
    def find(self, key: ObjectKey) -> int | None:
        """The number of an object; None for an unknown one."""

    @abstractmethod
    def numbers(self, kind: int | None = None) -> Iterable[int]:
        """The numbers of the objects of a kind; of all kinds for None."""

    @abstractmethod
    def state(self, number: int, position: int) -> int | None:
        """The position of the state of an object at a position; None if it did not exist."""

    @abstractmethod
    def versions(self, number: int) -> Sequence[Version]:
        """The states of an object, the oldest first."""

    @abstractmethod
    def encoded(self, number: int, position: int) -> bytes:
        """The JSON of a state: what a change left, or the last state of a deleted object."""

    @abstractmethod
    def at_time(self, time: int) -> int:
        """The position of the last change until a time."""

    @property
    @abstractmethod
    def ticks(self) -> tuple[Sequence[int], Sequence[int]]:
        """The positions and times of all changes, without the objects that existed before."""

    @property
    def reconciles(self) -> Sequence[int]:
        """The times at which reconciles ended."""
        return ()

    @property
    def first_reconcile(self) -> int:
        """The number of the first of `reconciles`: a live history forgets, and numbers stay."""
        return 0

    def reconcile(self, number: int) -> Reconcile:
        """A reconcile by its number."""
        raise LookupError(number)

    @property
    def gaps(self) -> Sequence[MissingTime]:
        """The times for which changes may be missing."""
        return ()

    @property
    def facts(self) -> Mapping[str, object]:
        """Facts about the whole, such as the server's version."""
        return {}

    def plain(self, number: int, position: int) -> Plain:
        """A state as plain data; only its name if it cannot be read."""
        try:
            found: object = msgspec.json.decode(self.encoded(number, position))
        # One odd object must not cost the page all others.
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = None
        return cast("Plain", found) if isinstance(found, dict) else self._name_only(number)

    def _name_only(self, number: int) -> Plain:
        key = self.key(number)
        if key is None:
            return {}
        kind = self.kinds[key.kind]
        version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        return {"apiVersion": version, "kind": kind.kind, "metadata": {"name": key.name, "namespace": key.namespace}}

    def present(self, position: int, kind: int | None = None) -> list[tuple[int, int]]:
        """The objects that existed at a position: their numbers, and the positions of their states."""
        return [(number, state) for number in self.numbers(kind) if (state := self.state(number, position)) is not None]

    def before(self, position: int) -> int | None:
        """The position of the state that a change replaced; None if there was none, or it is forgotten."""
        return self.state(self.number(position), position - 1)

    def ticks_between(self, since: int, until: int) -> tuple[Sequence[int], Sequence[int]]:
        """The positions and times of the changes between two times, both included."""
        positions, times = self.ticks
        low, high = bisect_left(times, since), bisect_right(times, until)
        return positions[low:high], times[low:high]
