"""Slows down workloads whose pods end as soon as they are created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead_server.controllers.objects import ObjectRef

__all__ = ["ReplacementPace"]

_AT_ONCE: Final = 1000
_PER_SECOND: Final = 20.0
"""The default rate of kube-controller-manager's client, which slows down such workloads in a cluster."""
_PAUSE: Final = 1.0


@dataclass(slots=True)
class _Allowance:
    generation: int
    pods: float
    since: datetime


class ReplacementPace:
    """Limits how many pods a workload creates: a thousand or twice its size at once, and then twenty per second.

    A change of its spec begins anew.

    Args:
        now: Returns the time of the server's clock.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._allowances: dict[ObjectRef, _Allowance] = {}

    def allow(self, ref: ObjectRef, generation: int, size: int) -> int:
        """Return how many pods a workload may create now.

        Args:
            ref: The workload.
            generation: The generation of its spec.
            size: How many pods it is to have.
        """
        now, most = self._now(), float(max(_AT_ONCE, 2 * size))
        found = self._allowances.get(ref)
        if found is None or found.generation != generation:
            found = self._allowances[ref] = _Allowance(generation, most, now)
        passed = max(0.0, (now - found.since).total_seconds())
        found.pods, found.since = min(most, found.pods + _PER_SECOND * passed), now
        return int(found.pods)

    def take(self, ref: ObjectRef) -> None:
        """Count a pod that a workload has created."""
        self._allowances[ref].pods -= 1

    def next_delay(self, ref: ObjectRef) -> float | None:
        """Return the seconds until a workload may create pods again; None if it may now."""
        found = self._allowances.get(ref)
        return _PAUSE if found is not None and found.pods < 1 else None

    def forget(self, ref: ObjectRef) -> None:
        """Forget a workload that was removed."""
        self._allowances.pop(ref, None)
