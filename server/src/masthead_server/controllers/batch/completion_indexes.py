"""Sets of completion indexes, in the form of ``status.completedIndexes``: ``1,3-5,7``.

Intervals save memory: a Job may have very many indexes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["IndexSet", "format_indexes", "parse_indexes"]

_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class IndexSet:
    """An immutable set of indexes.

    Attributes:
        intervals: First and last index of each interval, ascending and not adjacent.
    """

    intervals: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        """The number of indexes."""
        return sum(last - first + 1 for first, last in self.intervals)

    def __contains__(self, index: int) -> bool:
        """Whether an index is in the set."""
        return any(first <= index <= last for first, last in self.intervals)

    def __or__(self, other: IndexSet) -> IndexSet:
        """The indexes of both sets."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(chain(self.intervals, other.intervals)):
            # Adjacent intervals join: 1-2 and 3 become 1-3.
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(last, merged[-1][1])
            else:
                merged.append((first, last))
        return IndexSet(tuple(merged))

    def with_indexes(self, indexes: Iterable[int]) -> IndexSet:
        """Return the set with further indexes."""
        return self | IndexSet(tuple((index, index) for index in sorted(set(indexes))))

    def count_common(self, other: IndexSet) -> int:
        """Return the size of the intersection."""
        return len(self) + len(other) - len(self | other)

    def missing(self, completions: int) -> Iterator[int]:
        """Yield the indexes below a limit that are not in the set."""
        candidate = 0
        for first, last in self.intervals:
            yield from range(candidate, min(first, completions))
            candidate = max(candidate, last + 1)
        yield from range(candidate, completions)


def parse_indexes(written: str, completions: int) -> IndexSet:
    """Parse indexes below a limit; skip intervals that are not numbers."""
    found = IndexSet()
    for interval in written.split(",") if written else ():
        first, _, last = interval.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            continue
        # The intervals ascend: none of the others is below the limit.
        if int(first) >= completions:
            break
        found |= IndexSet(((int(first), min(int(last or first), completions - 1)),))
    return found


def format_indexes(indexes: IndexSet) -> str:
    """Format indexes; an interval of two becomes two numbers, as in kube-controller-manager."""
    parts: list[str] = []
    for first, last in indexes.intervals:
        separator = "," if last - first + 1 == _PAIR else "-"
        parts.append(str(first) if first == last else f"{first}{separator}{last}")
    return ",".join(parts)
