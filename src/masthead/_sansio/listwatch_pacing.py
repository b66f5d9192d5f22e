"""The pacing of a list-watch: durations of streams, delays after failures, and the health of the last stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._sansio.backoff import reconnect_backoff
from masthead._sansio.listwatch_steps import REOPEN_INTERVAL
from masthead._sansio.retry import MAX_WAIT

if TYPE_CHECKING:
    from masthead._sansio.backoff import Backoff, Random
    from masthead._sansio.listwatch_steps import Failure

__all__ = ["StreamPacing"]

_MIN_TIMEOUT_SECONDS: Final = 300
_BOOKMARK_INTERVAL: Final = 75.0
"""API servers send a bookmark about every minute. A longer silence than this is never normal."""
_LAST_BOOKMARK: Final = 2
"""Seconds before the end of a watch at which an API server sends the last bookmark."""
_QUIET_SHARE: Final = (0.7, 0.9)
"""The duration of an idle stream, as a share of the silence limit. It varies, so that clients do not return in step."""


class StreamPacing:
    """Paces the requests of one list-watch.

    Args:
        random: Returns numbers in [0, 1).
        backoff: The delays after refusals, and after streams that end within a second.
        silence_limit: Seconds without a byte after which the caller drops a stream.

    Attributes:
        silence_limit: The same.
        is_open: Whether the server has accepted the last request for a stream.
        has_progressed: Whether the last stream has advanced the version.
        has_changes: Whether the last stream had events other than bookmarks.
        is_well: Whether the last stream to end was accepted, and had events or lasted.
    """

    __slots__ = (
        "_backoff",
        "_is_quiet",
        "_random",
        "_reconnect",
        "_started",
        "has_changes",
        "has_progressed",
        "is_open",
        "is_well",
        "silence_limit",
    )

    def __init__(self, random: Random, backoff: Backoff, silence_limit: float) -> None:
        self.silence_limit = silence_limit
        self.is_open = False
        self.has_progressed = False
        self.has_changes = False
        self.is_well = False
        self._random = random
        self._backoff = backoff
        self._reconnect = reconnect_backoff()
        self._started = 0.0
        # Quiet until proven busy: the first stream of an idle resource must end before it looks dead.
        self._is_quiet = True

    def begin(self, now: float) -> None:
        """Note that a request is sent."""
        self._started = now
        self.is_open = self.has_progressed = self.has_changes = False

    def end(self, now: float, *, is_following: bool, is_silent: bool) -> None:
        """Note the end of a request, and judge the stream.

        Args:
            now: The time.
            is_following: Whether the stream followed a complete state.
            is_silent: Whether it ended because nothing arrived.
        """
        self.is_well = self.has_progressed or (self.is_open and self.elapsed(now) >= REOPEN_INTERVAL)
        if self.is_well:
            self._backoff.reset()
            self._reconnect.reset()
        if is_following and self.is_open:
            self._is_quiet = is_silent or not self.has_changes

    def elapsed(self, now: float) -> float:
        """Seconds since the request was sent."""
        return now - self._started

    def pause(self, now: float) -> float:
        """The pause that keeps streams with events from being reopened in a loop."""
        return max(0.0, REOPEN_INTERVAL - self.elapsed(now))

    def delay(self, now: float, failure: Failure, *, is_small: bool) -> float:
        """The delay after a failure.

        Args:
            now: The time.
            failure: The failure.
            is_small: Whether the failed request was a small one.
        """
        # The server's delay counts, but one odd header must not make a watch seem dead.
        requested = min(failure.retry_after or 0.0, MAX_WAIT)
        # After a lost connection, only small requests are cheap enough for a short delay. Silence has taken its time
        # already, and is followed by such a request.
        is_unreachable = failure.unreachable or failure.silent or (is_small and failure.is_dropped)
        delays = self._reconnect if is_unreachable else self._backoff
        return max(requested, delays.next(now, self._random))

    def duration(self, *, is_resumption: bool) -> int:
        """The duration of a stream that follows a version.

        Args:
            is_resumption: Whether it resumes at a version. Otherwise it starts with all objects, and is not repeated
                more often than necessary.
        """
        is_short = is_resumption and self._is_quiet and self.silence_limit < _BOOKMARK_INTERVAL
        return self._short_duration() if is_short else self.long_duration()

    def long_duration(self) -> int:
        """The duration of a stream with events; random, so that clients do not return in step."""
        return _MIN_TIMEOUT_SECONDS + int(_MIN_TIMEOUT_SECONDS * self._random())

    def _short_duration(self) -> int:
        """The duration of an idle stream, which must end before its silence looks like a dead connection."""
        low, high = _QUIET_SHARE
        seconds = int(self.silence_limit * (low + (high - low) * self._random()))
        # A server sends its last bookmark two seconds before the end.
        return seconds if seconds > _LAST_BOOKMARK else self.long_duration()
