"""The time from a write to its notification."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import masthead

_KEPT: Final = 200
"""The number of lags behind the median, and the limit for writes and notifications without a counterpart."""


class LagMeter:
    """Matches writes and notifications by resource version; either may come first.

    Threads: may be used from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._lags: deque[float] = deque(maxlen=_KEPT)

    @contextmanager
    def sending(self) -> Generator[Callable[[masthead.Object], None]]:
        """Record the time of a write; assign the object that the server returns to the yielded value."""
        began = time.monotonic()
        yield lambda obj: self._match(self._sent, self._seen, obj, began)

    def saw(self, obj: masthead.Object) -> None:
        """Note a notification."""
        self._match(self._seen, self._sent, obj, time.monotonic())

    @property
    def recent(self) -> float | None:
        """The median of recent lags, in seconds; None without lags."""
        with self._lock:
            lags = sorted(self._lags)
        return lags[len(lags) // 2] if lags else None

    def _match(self, own: dict[str, float], others: dict[str, float], obj: masthead.Object, at: float) -> None:
        version = obj.metadata.resource_version or ""
        with self._lock:
            if version in others:
                # Both orders occur: the watch may deliver a write before its response arrives.
                self._lags.append(abs(at - others.pop(version)))
                return
            own[version] = at
            # Changes by controllers have no counterpart here, and would accumulate.
            if len(own) > _KEPT:
                del own[next(iter(own))]
