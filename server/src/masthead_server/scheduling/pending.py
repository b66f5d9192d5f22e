"""The queue of pending pods: by priority, then by age, with a backoff after failed attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.rejections import Cure

__all__ = ["PendingPods"]

_FIRST_BACKOFF: Final = timedelta(seconds=1)
_MAX_BACKOFF: Final = timedelta(seconds=10)
_FLUSH_AFTER: Final = timedelta(minutes=5)
"""The maximum time that a pod waits for a change before it is retried."""
_MIN_COMPACTED: Final = 64
_EARLY_RETRIES: Final = 500
"""Retries per second before the end of a backoff. kube-scheduler retries whenever it has nothing else to do. Here,
retries delay requests, so that their number after a change has to be limited."""


@dataclass(slots=True)
class _PendingPod:
    pod: SchedulingPod
    arrival: int
    attempts: int = 0
    not_before: datetime | None = None
    cures: Cure | None = None
    """The changes that it waits for; None if it is queued."""
    entry: int = field(default=-1)
    """The number of its valid heap entry; any other is outdated."""


class PendingPods:
    """Pods without a node, which are queued or wait for a change."""

    def __init__(self) -> None:
        self._pods: dict[ObjectRef, _PendingPod] = {}
        self._active: list[tuple[int, str, int, int, ObjectRef]] = []
        self._delayed: list[tuple[datetime, int, ObjectRef]] = []
        self._waiting: dict[Cure, dict[ObjectRef, _PendingPod]] = {}
        self._arrivals = 0
        self._entries = 0
        self._window: datetime | None = None
        self._early = 0

    def get(self, ref: ObjectRef) -> SchedulingPod | None:
        """Return a pod; None if it is not pending."""
        found = self._pods.get(ref)
        return None if found is None else found.pod

    def put(self, pod: SchedulingPod) -> None:
        """Add a pod, or replace it by a state with other requirements, and queue it."""
        known = self._pods.get(pod.ref)
        if known is None or known.pod.uid != pod.uid:
            # A new pod of the same name does not inherit the state of its predecessor.
            self.remove(pod.ref)
            self._arrivals += 1
            known = self._pods[pod.ref] = _PendingPod(pod, self._arrivals)
        known.pod, known.not_before = pod, None
        self._activate(known)

    def refresh(self, pod: SchedulingPod) -> None:
        """Replace a pod by a state with the same requirements."""
        self._pods[pod.ref].pod = pod

    def remove(self, ref: ObjectRef) -> None:
        """Forget a pod."""
        found = self._pods.pop(ref, None)
        if found is not None:
            self._stop_waiting(found)

    def pop(self, now: datetime) -> SchedulingPod | None:
        """Return the next pod to try, without removing it; None if none is due."""
        self._end_delays(now)
        while self._active:
            *_, entry, ref = heappop(self._active)
            found = self._pods.get(ref)
            if found is not None and found.entry == entry:
                found.entry = -1
                found.attempts += 1
                return found.pod
        return None

    def fail(self, ref: ObjectRef, cures: Cure | None, now: datetime) -> None:
        """Record a failed attempt.

        Args:
            ref: The pod.
            cures: The changes after which to retry the pod; None to retry it after its backoff.
            now: The time.
        """
        found = self._pods.get(ref)
        # A change during the attempt may have queued the pod again.
        if found is None or found.entry >= 0:
            return
        self._stop_waiting(found)
        found.not_before = backoff_end = now + min(_FIRST_BACKOFF * 2 ** min(found.attempts - 1, 8), _MAX_BACKOFF)
        if cures is None:
            self._delay(found, backoff_end)
            return
        found.cures = cures
        for kind in cures:
            self._waiting.setdefault(kind, {})[ref] = found
        # The cures may be incomplete, so that a timeout limits the wait.
        self._delay(found, now + _FLUSH_AFTER)

    def wake(self, cure: Cure, now: datetime) -> bool:
        """Queue the pods that wait for such a change; return whether there are any."""
        # After a failed attempt, a pod is woken once at most, so that many changes cost little.
        woken = {ref: found for kind in cure for ref, found in self._waiting.get(kind, {}).items()}
        for found in woken.values():
            self._stop_waiting(found)
            if found.not_before is None or found.not_before <= now or self._may_hurry(now):
                self._activate(found)
            else:
                self._delay(found, found.not_before)
        return bool(woken)

    def next_delay(self, now: datetime) -> float | None:
        """Return the seconds until the next attempt: 0 if a pod is due, None if no pod waits."""
        self._drop_outdated()
        if self._active:
            return 0.0
        if not self._delayed:
            return None
        return max(0.0, (self._delayed[0][0] - now).total_seconds())

    @property
    def entry_count(self) -> int:
        """The number of heap entries, outdated ones included."""
        return len(self._active) + len(self._delayed)

    def _activate(self, found: _PendingPod) -> None:
        self._stop_waiting(found)
        self._entries += 1
        found.entry = self._entries
        pod = found.pod
        # Timestamps of one format sort as text; pods of the same second keep their order of arrival.
        created = pod.facts.metadata.creation_timestamp
        heappush(self._active, (-pod.priority, created, found.arrival, found.entry, pod.ref))
        self._compact()

    def _stop_waiting(self, found: _PendingPod) -> None:
        for kind in found.cures or ():
            self._waiting[kind].pop(found.pod.ref, None)
        found.cures = None

    def _delay(self, found: _PendingPod, until: datetime) -> None:
        self._entries += 1
        found.entry = self._entries
        heappush(self._delayed, (until, found.entry, found.pod.ref))
        self._compact()

    def _compact(self) -> None:
        # An outdated entry stays until it reaches the top of its heap, which takes minutes. Pods that are woken
        # repeatedly would let the heaps grow without limit.
        limit = max(_MIN_COMPACTED, 4 * len(self._pods))
        if self.entry_count > limit:
            self._active = [entry for entry in self._active if self._is_valid(*entry[3:])]
            self._delayed = [entry for entry in self._delayed if self._is_valid(*entry[1:])]
            heapify(self._active)
            heapify(self._delayed)

    def _may_hurry(self, now: datetime) -> bool:
        if self._window is None or now - self._window >= timedelta(seconds=1):
            self._window, self._early = now, 0
        self._early += 1
        return self._early <= _EARLY_RETRIES

    def _end_delays(self, now: datetime) -> None:
        while self._delayed and self._delayed[0][0] <= now:
            _, entry, ref = heappop(self._delayed)
            if self._is_valid(entry, ref):
                self._activate(self._pods[ref])

    def _drop_outdated(self) -> None:
        while self._active and not self._is_valid(*self._active[0][3:]):
            heappop(self._active)
        while self._delayed and not self._is_valid(*self._delayed[0][1:]):
            heappop(self._delayed)

    def _is_valid(self, entry: int, ref: ObjectRef) -> bool:
        found = self._pods.get(ref)
        return found is not None and found.entry == entry
