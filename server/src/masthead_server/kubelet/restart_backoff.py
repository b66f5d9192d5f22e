"""The backoff of container restarts."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.kubelet.containers import ContainerRef

__all__ = ["RestartBackoff"]

_FIRST: Final = 10.0
_MAX: Final = 300.0
"""Seconds; they double each time."""


class RestartBackoff:
    """The delays of all containers that were restarted."""

    def __init__(self) -> None:
        self._delays: dict[ContainerRef, tuple[float, datetime]] = {}

    def next_delay(self, ref: ContainerRef, now: datetime) -> float:
        """Return the seconds until the next restart; 0 for the first one, and after a long run."""
        delay, last = self._delays.get(ref, (0.0, now))
        if not delay or (now - last).total_seconds() > 2 * _MAX:
            self._delays[ref] = _FIRST, now
            return 0.0
        self._delays[ref] = min(2 * delay, _MAX), now + timedelta(seconds=delay)
        return delay

    def forget(self, namespace: str, pod: str) -> None:
        """Forget the containers of a pod."""
        for ref in [ref for ref in self._delays if (ref.namespace, ref.pod) == (namespace, pod)]:
            del self._delays[ref]
