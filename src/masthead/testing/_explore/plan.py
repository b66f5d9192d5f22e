"""The plan of an exploration: which schedules run, in which order.

Single faults come before pairs, and pairs before triples. Among the single faults, one of each class of alike faults
comes first, and families of faults take turns by their shares. A pair extends a schedule that has run by a fault that
its trace permits.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, Final

import msgspec

from masthead.testing._explore.candidates import FAMILIES, Family, FaultCandidate, find_candidates
from masthead.testing._explore.faults import Answer, Crash, FailedRead, HandOver
from masthead.testing._explore.points import Points
from masthead.testing._explore.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.trace import RunResult

__all__ = ["SchedulePlan", "PlannedSchedule", "find_follow_ups", "order_candidates"]

_MAX_FAULTS: Final = 3
_MAX_FOLLOW_UPS: Final = 24
"""The maximum number of further faults of one schedule."""
_MAX_QUEUE: Final = 50_000
"""The maximum number of waiting pairs and triples."""
_DEFECTS_PER_PLACE: Final = 2
"""Schedules with a defect at a place, after which its other schedules wait until all else has run."""


class PlannedSchedule(msgspec.Struct, frozen=True):
    """A schedule of the plan.

    Attributes:
        schedule: The schedule.
        candidates: Its faults, with their families and places.
    """

    schedule: Schedule
    candidates: tuple[FaultCandidate, ...]

    @property
    def family(self) -> Family:
        """The family of the last fault."""
        return self.candidates[-1].family

    @property
    def place(self) -> tuple[str, str]:
        """The family and the place of the last fault."""
        return self.candidates[-1].family, self.candidates[-1].place


def order_candidates(candidates: Iterable[FaultCandidate]) -> Iterator[FaultCandidate]:
    """Put candidates in order: one of each class first, likeliest first, families in turn by their shares."""
    ranked: defaultdict[Family, list[FaultCandidate]] = defaultdict(list)
    for candidate in candidates:
        ranked[candidate.family].append(candidate)
    first: dict[Family, list[FaultCandidate]] = {}
    others: dict[Family, list[FaultCandidate]] = {}
    for family, found in ranked.items():
        # A stable sort: equals keep the order of the run, so that the plan is always the same.
        found.sort(key=_by_weight)
        first[family], others[family] = _split_by_class(found)
    # Faults of a class mostly show the same defect, so that a short budget should cover all classes.
    yield from _take_turns(first)
    yield from _take_turns(others)


def _by_weight(candidate: FaultCandidate) -> float:
    return -candidate.weight


def _split_by_class(candidates: list[FaultCandidate]) -> tuple[list[FaultCandidate], list[FaultCandidate]]:
    """Split candidates into the first of each class, and the others."""
    shapes: set[str] = set()
    first: list[FaultCandidate] = []
    others: list[FaultCandidate] = []
    for candidate in candidates:
        # Candidates come in the order of their weights, so the first of a class is its likeliest.
        (others if candidate.shape in shapes else first).append(candidate)
        shapes.add(candidate.shape)
    return first, others


def _take_turns(queues: dict[Family, list[FaultCandidate]]) -> Iterator[FaultCandidate]:
    """Merge the queues of families so that each has got its share at any time."""
    # The number breaks ties in a fixed order.
    turns: list[tuple[float, int, Family]] = [
        (1.0 / share, number, family) for number, (family, share) in enumerate(FAMILIES.items())
    ]
    heap = [turn for turn in turns if queues.get(turn[2])]
    heapq.heapify(heap)
    positions: Counter[Family] = Counter()
    while heap:
        # The family that is farthest behind its share.
        due, number, family = heap[0]
        queue = queues[family]
        yield queue[positions[family]]
        positions[family] += 1
        if positions[family] < len(queue):
            heapq.heapreplace(heap, (due + 1.0 / FAMILIES[family], number, family))
        else:
            heapq.heappop(heap)


def find_follow_ups(run: RunResult, known: frozenset[str], *, has_election: bool = False) -> list[FaultCandidate]:
    """Return the faults that could strike after those of a run: new classes first.

    Args:
        run: The run.
        known: The classes of the reference.
        has_election: Whether the operator elects a leader.
    """
    # After a miss, the trace is that of a shorter schedule, whose follow-ups the plan already has.
    if run.unhit or len(run.schedule.faults) >= _MAX_FAULTS:
        return []
    # The same request cannot be struck twice: the first fault has ended it.
    struck = {_request_of(fault) for fault in run.schedule.faults} - {None}
    found = [
        candidate
        for candidate in find_candidates(Points(run), has_election=has_election)
        if _request_of(candidate.fault) not in struck
    ]
    new = [candidate for candidate in found if candidate.shape not in known]
    chosen: list[FaultCandidate] = []
    for candidates in (new, [candidate for candidate in found if candidate.shape in known]):
        for candidate in order_candidates(candidates):
            if len(chosen) >= _MAX_FOLLOW_UPS:
                return chosen
            chosen.append(candidate)
    return chosen


def _request_of(fault: PlannedFault) -> tuple[str, int] | None:
    """Return the request that a fault strikes; None if it strikes none."""
    if isinstance(fault, Crash | Answer | HandOver) and fault.write:
        return "write", fault.write
    return ("read", fault.read) if isinstance(fault, FailedRead) else None


class SchedulePlan:
    """The schedules of an exploration, in order; it learns from their runs.

    Args:
        reference: The run without faults.
        seed: The seed of the schedules.
        has_election: Whether the operator elects a leader.
        is_done: Whether a schedule has run in an earlier exploration.

    Attributes:
        candidates: The number of single faults, by family.
        known: The classes of the single faults.
    """

    def __init__(
        self,
        reference: RunResult,
        *,
        seed: int = 0,
        has_election: bool = False,
        is_done: Callable[[Schedule], bool] = lambda _: False,
    ) -> None:
        found = list(find_candidates(Points(reference), has_election=has_election))
        self.candidates: Counter[Family] = Counter(candidate.family for candidate in found)
        self.known: frozenset[str] = frozenset(candidate.shape for candidate in found)
        self._seed = seed
        self._singles = order_candidates(found)
        self._deferred: deque[PlannedSchedule] = deque()
        self._more: list[tuple[int, int, int, PlannedSchedule]] = []
        self._count = 0
        self._defects: Counter[tuple[str, str]] = Counter()
        self._planned: set[Schedule] = set()
        self._is_done = is_done

    def next(self) -> PlannedSchedule | None:
        """Return the next schedule; None at the end."""
        for candidate in self._singles:
            planned = PlannedSchedule(Schedule(self._seed, (candidate.fault,)), (candidate,))
            if not self._is_new(planned.schedule):
                continue
            # A place with known defects would show them again.
            if self._defects[planned.place] < _DEFECTS_PER_PLACE:
                return planned
            # Not dropped, because another defect may hide at the same place.
            self._deferred.append(planned)
        if self._deferred:
            return self._deferred.popleft()
        while self._more:
            planned = heapq.heappop(self._more)[-1]
            # Dropped and not deferred: there are always more pairs than time.
            if self._defects[planned.place] < _DEFECTS_PER_PLACE and self._is_new(planned.schedule):
                return planned
        return None

    def add_defect(self, planned: PlannedSchedule) -> None:
        """Take note of a defect of a schedule: others at its place can wait."""
        self._defects[planned.place] += 1

    def add_follow_ups(self, planned: PlannedSchedule, follow_ups: Iterable[FaultCandidate]) -> None:
        """Plan further faults after those of a schedule without a defect."""
        depth = len(planned.candidates) + 1
        for rank, candidate in enumerate(follow_ups):
            if len(self._more) >= _MAX_QUEUE:
                return
            schedule = Schedule(self._seed, (*planned.schedule.faults, candidate.fault))
            longer = PlannedSchedule(schedule, (*planned.candidates, candidate))
            # New behaviour first: no single fault can have disturbed it.
            delay = _MAX_FOLLOW_UPS if candidate.shape in self.known else 0
            # The count keeps the order of equals, since schedules have no order.
            self._count += 1
            heapq.heappush(self._more, (depth, rank + delay, self._count, longer))

    def _is_new(self, schedule: Schedule) -> bool:
        if schedule in self._planned:
            return False
        self._planned.add(schedule)
        return not self._is_done(schedule)
