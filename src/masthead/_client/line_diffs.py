"""Unified diffs of long texts, in bounded time.

`difflib` takes minutes if every second of 20,000 lines differs, because it searches for the longest match again and
again. This module matches lines that are unique on both sides first (a patience diff); `difflib` compares only the gaps
between them::

    common start │ gap │ unique line │ gap │ unique line │ gap │ common end
                   └ a small gap: difflib; a large one: split again at unique lines, or replaced as a whole
"""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from difflib import Match, SequenceMatcher
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["unified_diff"]

_SMALL: Final = 10_000
"""The largest product of lines that `difflib` compares."""
_MAX_DEPTH: Final = 16
"""How often a gap is split; deeper, it is replaced as a whole."""


class _Gap(NamedTuple):
    """Lines of both sides between two matches: from `a` to `a_end`, and from `b` to `b_end`; how often it was split."""

    a: int
    a_end: int
    b: int
    b_end: int
    level: int = 0


class _LineMatcher(SequenceMatcher[str]):
    """A `SequenceMatcher` that takes a bounded time."""

    def __init__(self, a: Sequence[str], b: Sequence[str]) -> None:
        # Without sequences: the base class would index them, which is needed for small gaps alone.
        super().__init__(None, "", "", autojunk=False)
        self.a, self.b = a, b

    def get_matching_blocks(self) -> list[Match]:
        """The runs of equal lines, in order, and an empty one at the end."""
        blocks: list[Match] = []
        for a, b, size in sorted(match for match in _matches(self.a, self.b) if match[2]):
            last = blocks[-1] if blocks else Match(-1, -1, 0)
            # difflib expects maximal blocks; adjacent ones would become separate hunks.
            if (last.a + last.size, last.b + last.size) == (a, b):
                blocks[-1] = Match(last.a, last.b, last.size + size)
            else:
                blocks.append(Match(a, b, size))
        return [*blocks, Match(len(self.a), len(self.b), 0)]


def unified_diff(old: Sequence[str], new: Sequence[str], names: tuple[str, str], context: int) -> list[str]:
    """Return a unified diff of lines, which end in a newline; empty if they are equal.

    Args:
        old: The lines before.
        new: The lines after.
        names: The names of both in the header.
        context: How many unchanged lines surround a change.
    """
    lines: list[str] = []
    for group in _LineMatcher(old, new).get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        lines.append(f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n")
        for tag, a, a_end, b, b_end in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[a:a_end]]
                continue
            lines += [f"-{line}" for line in old[a:a_end]]
            lines += [f"+{line}" for line in new[b:b_end]]
    return [f"--- {names[0]}\n", f"+++ {names[1]}\n", *lines] if lines else []


def _range(start: int, end: int) -> str:
    """The range of a hunk: an empty one is named by the line before it."""
    length = end - start
    return f"{start + 1}" if length == 1 else f"{start + 1 if length else start},{length}"


def _matches(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield runs of equal lines, as start on both sides and length, in any order."""
    gaps = [_Gap(0, len(a), 0, len(b))]
    while gaps:
        gap = gaps.pop()
        # Most lines are equal at both ends, which leaves little to compare.
        start = _common(a[gap.a : gap.a_end], b[gap.b : gap.b_end])
        yield gap.a, gap.b, start
        gap = gap._replace(a=gap.a + start, b=gap.b + start)
        end = _common(a[gap.a : gap.a_end][::-1], b[gap.b : gap.b_end][::-1])
        yield gap.a_end - end, gap.b_end - end, end
        gap = gap._replace(a_end=gap.a_end - end, b_end=gap.b_end - end)
        size = (gap.a_end - gap.a) * (gap.b_end - gap.b)
        # difflib takes quadratic time, and minutes for a long ConfigMap.
        if size > _SMALL:
            gaps += _split(a, b, gap)
        elif size:
            matcher = SequenceMatcher(None, a[gap.a : gap.a_end], b[gap.b : gap.b_end], autojunk=False)
            for found in matcher.get_matching_blocks():
                yield gap.a + found.a, gap.b + found.b, found.size


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many lines both begin with."""
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _split(a: Sequence[str], b: Sequence[str], gap: _Gap) -> list[_Gap]:
    """Split a gap at lines that are unique on both sides, and in the same order; each gap begins with such a line."""
    ours, theirs = _unique(a, gap.a, gap.a_end), _unique(b, gap.b, gap.b_end)
    anchors = _increasing([(ours[line], theirs[line]) for line in ours if line in theirs])
    # Without an anchor, splitting would not end; and each level reads all lines again.
    if not anchors or gap.level == _MAX_DEPTH:
        return []
    edges = [(gap.a, gap.b), *anchors, (gap.a_end, gap.b_end)]
    return [_Gap(one[0], other[0], one[1], other[1], gap.level + 1) for one, other in itertools.pairwise(edges)]


def _unique(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    """The positions of the lines that occur once in a range."""
    counts = Counter(lines[start:end])
    return {lines[at]: at for at in range(start, end) if counts[lines[at]] == 1}


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence that increases in the second number; the pairs are sorted by the first."""
    ends: list[int] = []  # the smallest second that a subsequence of each length ends with
    at_end: list[int] = []  # the pair that it ends with
    before: list[int] = []  # for each pair, the pair before it in the longest subsequence; -1 for none
    for at, (_, second) in enumerate(pairs):
        # Patience sorting: anchors must keep their order in both texts.
        length = bisect.bisect_left(ends, second)
        before.append(at_end[length - 1] if length else -1)
        ends[length : length + 1] = [second]
        at_end[length : length + 1] = [at]
    found: list[tuple[int, int]] = []
    at = at_end[-1] if at_end else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]
