"""What the time axis shows of a span: each change, or how many there are, if they are many. And the reconciles."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._ui.history import History

__all__ = ["axis_of"]

_EXACT: Final = 2_000
"""Up to how many changes are sent one by one."""
_MAX_BUCKETS: Final = 2_000
_OPERATIONS: Final = ("STATE", "ADDED", "MODIFIED", "DELETED")


def axis_of(history: History, since: int, until: int, buckets: int) -> dict[str, object]:
    """Return what a time axis shows.

    Args:
        history: The history.
        since: The begin of the span, in microseconds since 1970.
        until: Its end.
        buckets: Into how many parts the span is divided for counts, such as the pixels of the axis.
    """
    buckets = max(1, min(buckets, _MAX_BUCKETS))
    # A span of nothing would divide by zero.
    until = max(until, since + 1)
    positions, times = history.ticks_between(since, until)
    shown: dict[str, object] = {"since": since, "until": until, "count": len(positions)}
    if len(positions) <= _EXACT:
        shown["ticks"] = [
            [position, time, _OPERATIONS.index(history.version(position).operation), history.number(position)]
            for position, time in zip(positions, times, strict=True)
        ]
    else:
        shown["counts"] = _counts(times, since, until, buckets)
    shown["reconciles"], shown["reconcileCounts"] = _reconciles(history, since, until, buckets)
    shown["gaps"] = [
        [gap.since, gap.until, gap.why] for gap in history.gaps if gap.until >= since and gap.since <= until
    ]
    return shown


def _counts(times: Sequence[int], since: int, until: int, buckets: int) -> list[int]:
    # A binary search for each part: counting a million changes one by one would take longer than a frame.
    edges = [bisect_left(times, since + (until - since) * at // buckets) for at in range(buckets)]
    edges.append(len(times))
    return [after - before for before, after in pairwise(edges)]


def _reconciles(
    history: History, since: int, until: int, buckets: int
) -> tuple[list[list[object]] | None, list[int] | None]:
    times = history.reconciles
    low, high = bisect_left(times, since), bisect_right(times, until)
    # Each reconcile is read from the file for its outcome, which takes too long for thousands.
    if high - low > _EXACT:
        return None, _counts(times[low:high], since, until, buckets)
    found: list[list[object]] = []
    for number in range(history.first_reconcile + low, history.first_reconcile + high):
        line = history.reconcile(number)
        name = f"{line.namespace}/{line.name}" if line.namespace else line.name
        found.append([number, line.began, line.time, line.outcome, f"{line.controller} {name}"])
    return found, None
