"""The limits of Events: aggregation of similar ones, and the spam filter per object."""

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
        cache_size: The number of remembered series, aggregates and objects; the least recently used one is evicted.
        aggregate_after: The number of distinct messages from which similar occurrences are combined.
        aggregate_interval: Seconds without a similar occurrence after which combining ends.
        burst: The spam filter's burst of writes per object and type of Event.
        refill: Seconds until the spam filter grants one more write.
        refresh: Seconds between writes of the count of an active series.
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
        # `not >`, so that NaN is refused, too.
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0, not {getattr(self, name)!r}")


@dataclass(slots=True)
class _Aggregate:
    """Similar occurrences.

    Attributes:
        notes: Hashes of the distinct messages with their own records; a message may have a kilobyte.
        last: The time of the last occurrence.
    """

    notes: set[int]
    last: float


class EventAggregator:
    """Combines many occurrences that differ only in their message."""

    __slots__ = ("_after", "_aggregates", "_interval")

    def __init__(self, options: CorrelatorOptions) -> None:
        self._after = options.aggregate_after
        self._interval = options.aggregate_interval
        self._aggregates: LruCache[Key, _Aggregate] = LruCache(options.cache_size)

    def is_combined(self, similarity: Key, note: str, now: float) -> bool:
        """Observe an occurrence, and return whether it is combined with similar ones.

        The first messages keep their own records, also when they recur; all others are combined.
        """
        aggregate = self._aggregates.get(similarity)
        if aggregate is None or now - aggregate.last > self._interval:
            aggregate = _Aggregate(set(), now)
            self._aggregates.put(similarity, aggregate)
        aggregate.last = max(aggregate.last, now)
        digest = hash(note)
        if digest in aggregate.notes:
            return False
        # differs from client-go: it forgets any one of the messages here, so that chance decides which recurring
        # messages are combined.
        if len(aggregate.notes) + 1 >= self._after:
            return True
        aggregate.notes.add(digest)
        return False


class SpamFilter:
    """A token bucket for each source, object and type."""

    __slots__ = ("_full_at", "_interval", "_slack")

    def __init__(self, options: CorrelatorOptions) -> None:
        self._interval = options.refill
        self._slack = (options.burst - 1) * options.refill
        # The time at which a bucket will be full again determines its tokens.
        self._full_at: LruCache[Key, float] = LruCache(options.cache_size)

    def allows(self, key: Key, now: float) -> bool:
        """Take a token, if one is left."""
        full_at = self._full_at.get(key)
        full_at = now if full_at is None else max(now, full_at)
        # Tolerant: a sum of intervals may exceed the slack by a rounding error.
        if full_at - now > self._slack + _ROUNDING:
            return False
        self._full_at.put(key, full_at + self._interval)
        return True


_ROUNDING: Final = 1e-6
"""Seconds by which sums of times may be off."""
