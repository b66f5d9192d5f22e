"""The limits of Events: when similar ones are combined, and how many writes about an object pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._sansio.lru import LruCache

if TYPE_CHECKING:
    from masthead._sansio.event_occurrences import Key

__all__ = ["CorrelatorOptions", "EventAggregator", "SpamFilter"]


@set_module("masthead.record")
@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatorOptions:
    """The limits of event correlation; the defaults are client-go's.

    Attributes:
        cache_size: How many series, aggregates and objects are remembered; the least recently used one is forgotten.
        aggregate_after: The number of distinct messages of similar occurrences from which on they are combined.
        aggregate_interval: Seconds without a similar occurrence after which combining ends.
        burst: How many writes about an object, per type of Event, the spam filter lets pass at once.
        refill: Seconds after which it lets one more pass.
        refresh: Seconds after which the count of a series that goes on is written again.
        finish: Seconds without an occurrence after which a series is finished.

    Raises:
        ValueError: If a limit is not positive.
    """

    cache_size: int = 4096
    aggregate_after: int = 10
    aggregate_interval: float = 600.0
    burst: int = 25
    refill: float = 300.0
    refresh: float = 1800.0
    finish: float = 360.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0, not {getattr(self, name)!r}")


@dataclass(slots=True)
class _Aggregate:
    """Similar occurrences.

    Attributes:
        notes: Hashes of the distinct messages that have a record of their own: a message may be a kilobyte.
        last: When the last one occurred.
    """

    notes: set[int]
    last: float


class EventAggregator:
    """Combines occurrences that differ in their message only, once there are many."""

    __slots__ = ("_after", "_aggregates", "_interval")

    def __init__(self, options: CorrelatorOptions) -> None:
        self._after = options.aggregate_after
        self._interval = options.aggregate_interval
        self._aggregates: LruCache[Key, _Aggregate] = LruCache(options.cache_size)

    def is_combined(self, similarity: Key, note: str, now: float) -> bool:
        """Observe an occurrence, and return whether it is combined with similar ones.

        The first messages keep their own records, also when they recur; all others are combined.
        """
        found = self._aggregates.get(similarity)
        if found is None or now - found.last > self._interval:
            found = _Aggregate(set(), now)
            self._aggregates.put(similarity, found)
        found.last = max(found.last, now)
        digest = hash(note)
        if digest in found.notes:
            return False
        # differs from client-go: it forgets any one of the messages here, so that chance decides which recurring
        # messages are combined.
        if len(found.notes) + 1 >= self._after:
            return True
        found.notes.add(digest)
        return False


class SpamFilter:
    """A token bucket for each source, object and type."""

    __slots__ = ("_full_at", "_interval", "_slack")

    def __init__(self, options: CorrelatorOptions) -> None:
        self._interval = options.refill
        self._slack = (options.burst - 1) * options.refill
        # The time at which a bucket will be full again says how full it is now.
        self._full_at: LruCache[Key, float] = LruCache(options.cache_size)

    def allows(self, key: Key, now: float) -> bool:
        """Take a token, if one is left."""
        full_at = self._full_at.get(key)
        full_at = now if full_at is None else max(now, full_at)
        if full_at - now > self._slack + _ROUNDING:
            return False
        self._full_at.put(key, full_at + self._interval)
        return True


_ROUNDING: Final = 1e-6
"""Seconds by which sums of times may be off."""
