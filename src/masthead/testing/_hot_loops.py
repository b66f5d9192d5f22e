"""Finds an object that is reconciled again and again, so that virtual time would hardly pass."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._controller.requests import Request

__all__ = ["HotKey", "find_hot_key"]

_MIN_COUNT: Final = 500
"""How often an object is reconciled before it can be hot: a burst of events is not a loop."""
_MAX_RATE: Final = 20.0
"""Reconciles of an object per second; an hour of them takes a test half a minute."""


class HotKey(NamedTuple):
    """An object that is reconciled again and again.

    Attributes:
        controller: The name of the controller.
        key: The object.
        times: The number of its latest reconciles.
        seconds: The time that these took.
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
    """Return the object that is reconciled most often, if that is too often.

    Args:
        recent: The objects reconciled last and when, by controller; oldest first.
        since: Earlier reconciles do not count.
        min_count: The number of reconciles from which on an object can be hot.
    """
    found: list[HotKey] = []
    for controller, reconciles in recent.items():
        counted = [(when, request) for when, request in reconciles if when >= since]
        for request, count in Counter(request for _, request in counted).most_common(1):
            times = [when for when, other in counted if other == request]
            found.append(HotKey(controller, request.key, count, times[-1] - times[0]))
    hottest = max(found, key=lambda hot: hot.times, default=None)
    if hottest is None or hottest.times < min_count or hottest.times < _MAX_RATE * hottest.seconds:
        return None
    return hottest
