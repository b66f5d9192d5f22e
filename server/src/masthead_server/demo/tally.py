"""Counts faults: how many were injected, and how many of them the informers have survived. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from masthead_server.demo.story import Injection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class WatchState:
    """The state of one informer's watch.

    Attributes:
        attempts: How often it was opened again, or its objects listed again.
        is_open: Whether it is open, and has delivered something.
    """

    attempts: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class FaultCount:
    """The row of one kind of fault.

    Attributes:
        kind: The kind.
        injected: How many were injected.
        survived: How many are over.
        longest: The seconds until the slowest of them was over.
    """

    kind: Injection
    injected: int
    survived: int
    longest: float


@dataclass(frozen=True, slots=True)
class _Injected:
    kind: Injection
    at: float
    before: Mapping[str, int]


@dataclass(slots=True)
class FaultTally:
    """The injected faults.

    A fault is survived as soon as every watch that it hits was opened again, delivers, and the caches were found equal
    to the cluster after that. So a fault without an effect never counts as survived.
    """

    _pending: list[_Injected] = field(default_factory=list[_Injected])
    _survived: list[tuple[Injection, float]] = field(default_factory=list[tuple[Injection, float]])

    def inject(self, kind: Injection, at: float, watches: Mapping[str, WatchState]) -> None:
        """Note a fault, with the watches that it hits, as they are before it."""
        self._pending.append(_Injected(kind, at, {name: watch.attempts for name, watch in watches.items()}))

    def observe(
        self, at: float, watches: Mapping[str, WatchState], *, is_equal: bool
    ) -> Sequence[tuple[Injection, float]]:
        """Note the state of all watches, and whether the caches equal the cluster.

        Returns:
            The faults that are survived now, and after how many seconds.
        """
        # An open watch alone proves nothing: it could have left out events.
        if not is_equal:
            return []
        over = [fault for fault in self._pending if _is_over(fault, watches)]
        self._pending = [fault for fault in self._pending if fault not in over]
        found = [(fault.kind, at - fault.at) for fault in over]
        self._survived += found
        return found

    @property
    def pending(self) -> Sequence[Injection]:
        """The faults that are not survived yet, oldest first."""
        return [fault.kind for fault in self._pending]

    def rows(self) -> tuple[FaultCount, ...]:
        """A row for every kind of fault."""
        return tuple(_count(kind, self._pending, self._survived) for kind in Injection)


def _is_over(fault: _Injected, watches: Mapping[str, WatchState]) -> bool:
    return all(watches[name].attempts > before and watches[name].is_open for name, before in fault.before.items())


def _count(kind: Injection, pending: Iterable[_Injected], survived: Iterable[tuple[Injection, float]]) -> FaultCount:
    times = [seconds for name, seconds in survived if name is kind]
    waiting = sum(fault.kind is kind for fault in pending)
    return FaultCount(kind, len(times) + waiting, len(times), max(times, default=0.0))
