"""Rate limiters of work queues: the delay of a key before its next processing.

They are not thread-safe: a queue calls its limiter under its own lock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from math import inf, log2
from typing import Final, Generic, Protocol, TypeVar

from masthead._module import set_module
from masthead._sansio import randomness
from masthead._sansio.backoff import Random, jittered
from masthead._sansio.token_bucket import TokenBucket
from masthead.errors import ArgumentError

__all__ = [
    "MAX_TRACKED",
    "BucketRateLimiter",
    "FastSlowRateLimiter",
    "ItemExponentialRateLimiter",
    "MaxOfRateLimiter",
    "MaxWaitRateLimiter",
    "QueueRateLimiter",
    "default_rate_limiter",
]

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)

MAX_TRACKED: Final = 100_000
"""Default for the number of keys whose failures a limiter counts."""


@set_module("masthead.workqueue")
class QueueRateLimiter(Protocol[K_contra]):
    """Chooses the delay of a key before its next processing.

    A queue calls it under its lock: the methods must not block, and must not call the queue.
    """

    def when(self, key: K_contra, now: float) -> float:
        """Count a failure of a key; return its delay in seconds.

        Args:
            key: The key.
            now: The time, in seconds of any monotonic clock.
        """
        ...

    def forget(self, key: K_contra) -> None:
        """Forget the failures of a key that has succeeded or is not retried any more."""
        ...

    def num_requeues(self, key: K_contra) -> int:
        """The number of counted failures of a key."""
        ...


class _FailureCounts(Generic[K]):
    """The failures of the `limit` keys that failed last."""

    __slots__ = ("_counts", "_limit")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ArgumentError(f"max_tracked must be at least 1, not {limit}", value=limit)
        self._counts: OrderedDict[K, int] = OrderedDict()
        self._limit = limit

    def count(self, key: K) -> int:
        """Count a failure; return the number before it."""
        counts = self._counts
        # Removed and added again, so that the order is that of the last failures.
        before = counts.pop(key, 0)
        counts[key] = before + 1
        # Bounded: keys that never succeed, such as those of deleted objects, are never forgotten otherwise.
        if len(counts) > self._limit:
            counts.popitem(last=False)
        return before

    def forget(self, key: K) -> None:
        self._counts.pop(key, None)

    def get(self, key: K) -> int:
        return self._counts.get(key, 0)

    def __len__(self) -> int:
        return len(self._counts)


@set_module("masthead.workqueue")
class ItemExponentialRateLimiter(Generic[K]):
    """Doubles the delay of a key with each failure: ``base``, ``2 * base``, ``4 * base`` …, at most `cap` seconds.

    Failures are counted until `forget`, for the `max_tracked` keys that failed last. Another key starts with `base`
    again.

    Args:
        base: The first delay, in seconds.
        cap: The maximum delay, in seconds, jitter included.
        jitter: The maximum random extension of a delay, as a multiple of it: 0.1 for up to a tenth.
        max_tracked: The number of tracked keys.
        random: Returns numbers in [0, 1).

    Raises:
        ArgumentError: If `base` is not positive, `cap` is infinite or less than `base`, `jitter` is negative, or
            `max_tracked` is less than 1.
    """

    def __init__(
        self,
        base: float = 0.005,
        cap: float = 1000.0,
        *,
        jitter: float = 0.0,
        max_tracked: int = MAX_TRACKED,
        random: Random = randomness.random,
    ) -> None:
        if not (0 < base <= cap < inf and jitter >= 0):
            raise ArgumentError(
                f"a rate limiter needs 0 < base <= cap < inf and jitter >= 0, not {base=}, {cap=}, {jitter=}"
            )
        self._base, self._cap, self._jitter, self._random = base, cap, jitter, random
        # Beyond, the power might overflow.
        self._max_doublings = log2(cap / base) + 1
        self._failures: _FailureCounts[K] = _FailureCounts(max_tracked)

    def when(self, key: K, now: float) -> float:
        """Count a failure of a key; return its delay in seconds."""
        del now
        failures = self._failures.count(key)
        if failures >= self._max_doublings:
            # Without jitter: clients at the cap are out of step already.
            return self._cap
        delay = self._base * 2.0**failures
        return min(jittered(delay, self._jitter, self._random) if self._jitter else delay, self._cap)

    def forget(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.forget(key)

    def num_requeues(self, key: K) -> int:
        """The number of counted failures of a key."""
        return self._failures.get(key)


@set_module("masthead.workqueue")
class FastSlowRateLimiter(Generic[K]):
    """Retries a key quickly a few times, and slowly from then on.

    Failures are counted until `forget`, for the `max_tracked` keys that failed last.

    Args:
        fast: The delay of the first retries, in seconds.
        slow: The delay of all others, in seconds.
        max_fast_attempts: The number of fast retries.
        max_tracked: The number of tracked keys.

    Raises:
        ArgumentError: If a delay or `max_fast_attempts` is negative, or `max_tracked` is less than 1.
    """

    def __init__(self, fast: float, slow: float, max_fast_attempts: int, *, max_tracked: int = MAX_TRACKED) -> None:
        if not (fast >= 0 and slow >= 0 and max_fast_attempts >= 0):
            raise ArgumentError(f"delays and attempts must not be negative: {fast=}, {slow=}, {max_fast_attempts=}")
        self._fast, self._slow, self._max_fast = fast, slow, max_fast_attempts
        self._failures: _FailureCounts[K] = _FailureCounts(max_tracked)

    def when(self, key: K, now: float) -> float:
        """Count a failure of a key; return its delay in seconds."""
        del now
        return self._fast if self._failures.count(key) < self._max_fast else self._slow

    def forget(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.forget(key)

    def num_requeues(self, key: K) -> int:
        """The number of counted failures of a key."""
        return self._failures.get(key)


@set_module("masthead.workqueue")
class BucketRateLimiter(Generic[K]):
    """Limits the total rate of all keys with a token bucket. It keeps no state per key.

    Args:
        rate: Keys per second.
        burst: The maximum burst after an idle time.

    Raises:
        ArgumentError: If `rate` is not positive, or `burst` is less than 1.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        if not (rate > 0 and burst >= 1):
            raise ArgumentError(f"a rate limiter needs rate > 0 and burst >= 1, not {rate=}, {burst=}")
        self._bucket = TokenBucket(rate, burst)

    def when(self, key: K, now: float) -> float:
        """Take the next token; return the seconds until it is available."""
        del key
        return self._bucket.take(now)

    def forget(self, key: K) -> None:
        """No-op: tokens belong to no key."""

    def num_requeues(self, key: K) -> int:
        """Always 0."""
        del key
        return 0


@set_module("masthead.workqueue")
class MaxOfRateLimiter(Generic[K]):
    """The longest delay of several limiters. Each of them counts every failure.

    Args:
        limiters: At least one.

    Raises:
        ArgumentError: If there is no limiter.
    """

    def __init__(self, *limiters: QueueRateLimiter[K]) -> None:
        if not limiters:
            raise ArgumentError("MaxOfRateLimiter needs at least one limiter", value=limiters)
        self._limiters = limiters

    def when(self, key: K, now: float) -> float:
        """Count a failure of a key; return the longest delay."""
        # A list: every limiter must count, so that nothing may stop early.
        return max([limiter.when(key, now) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Forget the failures of a key in all limiters."""
        for limiter in self._limiters:
            limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """The highest number of counted failures of a key."""
        return max([limiter.num_requeues(key) for limiter in self._limiters])


@set_module("masthead.workqueue")
class MaxWaitRateLimiter(Generic[K]):
    """The delay of another limiter, limited to a maximum.

    Args:
        limiter: The other limiter.
        max_wait: The maximum delay, in seconds.

    Raises:
        ArgumentError: If `max_wait` is negative.
    """

    def __init__(self, limiter: QueueRateLimiter[K], max_wait: float) -> None:
        if not max_wait >= 0:
            raise ArgumentError(f"max_wait must not be negative, but is {max_wait}", value=max_wait)
        self._limiter, self._max_wait = limiter, max_wait

    def when(self, key: K, now: float) -> float:
        """Count a failure of a key; return its delay in seconds."""
        return min(self._limiter.when(key, now), self._max_wait)

    def forget(self, key: K) -> None:
        """Forget the failures of a key."""
        self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """The number of counted failures of a key."""
        return self._limiter.num_requeues(key)


@set_module("masthead.workqueue")
def default_rate_limiter() -> QueueRateLimiter[Hashable]:
    """Create the default limiter of queues: 5 ms to 1000 s per key, and 10 keys per second with bursts of 100.

    The longer of both delays counts.
    """
    return MaxOfRateLimiter[Hashable](ItemExponentialRateLimiter(), BucketRateLimiter())
