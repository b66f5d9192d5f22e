"""The time from a write to its notification."""

from __future__ import annotations

import threading
from typing import Final

_KEPT: Final = 1000
"""The limit for writes without a notification."""


class LagMeter:
    """Matches writes and notifications of a resource by version. Versions are numbers on this server, and grow.

    Threads: may be used from any thread. Times are arguments, by one clock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[int, float] = {}
        self._seen = 0
        self._seen_at = 0.0
        self._last: float | None = None
        self.worst = 0.0
        """The longest time so far."""

    def sent(self, version: int, began: float) -> None:
        """Note a write that began at some time, and resulted in a version."""
        with self._lock:
            # Both orders occur: the watch may deliver a write before its response arrives.
            if version <= self._seen:
                self._measure(began, self._seen_at)
            # During a long silence, the oldest write decides.
            elif len(self._sent) < _KEPT:
                self._sent[version] = began

    def saw(self, version: int, now: float) -> None:
        """Note a notification: a version at least this new has arrived."""
        with self._lock:
            if version <= self._seen:
                return
            self._seen, self._seen_at = version, now
            # One later version proves that a write was passed, even if a relist left its own event out.
            for arrived in [sent for sent in self._sent if sent <= version]:
                self._measure(self._sent.pop(arrived), now)

    def current(self, now: float) -> float | None:
        """The last time in seconds, or the age of a write that has not arrived yet; None without writes."""
        with self._lock:
            if self._sent:
                waiting = now - min(self._sent.values())
                self.worst = max(self.worst, waiting)
                return max(waiting, self._last or 0.0)
            return self._last

    def _measure(self, began: float, arrived: float) -> None:
        self._last = max(0.0, arrived - began)
        self.worst = max(self.worst, self._last)
