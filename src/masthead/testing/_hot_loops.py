"""Detects objects in a reconcile loop, which keep virtual time from passing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._controller.requests import Request

__all__ = ["MAX_RATE", "HotKey", "find_hot_key"]

_MIN_COUNT: Final = 500
"""The minimum number of reconciles of a hot object: a burst of events is not a loop."""
MAX_RATE: Final = 9.0
"""Reconciles of an object per second; an hour at this rate takes a test a quarter of a minute. The shortest requeue is
0.1 s."""


class HotKey(NamedTuple):
    """An object in a reconcile loop.

    Attributes:
        controller: The name of the controller.
        key: The object.
        times: The number of its latest reconciles.
        seconds: The time between the first and the last of them.
    """

    controller: str
    key: str
    times: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"controller {self.controller} has reconciled {self.key} {self.times:,} times within {self.seconds:.3g} s"
        )


def find_hot_key(
    recent: Mapping[str, Sequence[tuple[float, Request]]], since: float, min_count: int = _MIN_COUNT
) -> HotKey | None:
    """Return the object with the most reconciles, if it is in a loop.

    Args:
        recent: Recent reconciles by controller, oldest first: time and object.
        since: The time before which reconciles do not count.
        min_count: The minimum number of reconciles.
    """
    candidates: list[HotKey] = []
    for controller, reconciles in recent.items():
        counted = [(when, request) for when, request in reconciles if when >= since]
        for request, count in Counter(request for _, request in counted).most_common(1):
            times = [when for when, other in counted if other == request]
            candidates.append(HotKey(controller, request.key, count, times[-1] - times[0]))
    hottest = max(candidates, key=lambda hot: hot.times, default=None)
    # Both a number and a rate: many reconciles over hours are normal.
    if hottest is None or hottest.times < min_count or hottest.times < MAX_RATE * hottest.seconds:
        return None
    return hottest
