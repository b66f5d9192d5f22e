"""Rate limiters of work queues: how long a key waits before it is processed again.

They are not thread-safe: a queue asks its limiter under its own lock.
"""

from __future__ import annotations

import random as _random
from collections import OrderedDict
from collections.abc import Hashable
from math import inf, log2
from typing import Final, Generic, Protocol, TypeVar

from masthead._module import set_module
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
"""How many keys a limiter counts the failures of, by default."""


@set_module("masthead.workqueue")
class QueueRateLimiter(Protocol[K_contra]):
    """Decides how long a key waits before it is processed again.

    A queue calls it under its lock: the methods must return at once and must not call the queue.
    """

    def when(self, key: K_contra, now: float) -> float:
        """Count a failure of a key; returns how many seconds it has to wait.

        Args:
            key: The key.
            now: The time, in seconds of any monotonic clock.
        """
        ...

    def forget(self, key: K_contra) -> None:
        """Forget the failures of a key: it has succeeded, or is not retried any more."""
        ...

    def num_requeues(self, key: K_contra) -> int:
        """How many failures of a key are counted."""
        ...


class _FailureCounts(Generic[K]):
    """The failures of keys, of the `limit` that failed last."""

    __slots__ = ("_counts", "_limit")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ArgumentError(f"max_tracked must be at least 1, not {limit}", value=limit)
        self._counts: OrderedDict[K, int] = OrderedDict()
        self._limit = limit

    def count(self, key: K) -> int:
        """Count a failure; returns how many there were before."""
        counts = self._counts
        before = counts.pop(key, 0)
        counts[key] = before + 1
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

    Failures are counted until `forget`, of the `max_tracked` keys that failed last. Those of another key are forgotten,
    so that it begins anew with `base`.

    Args:
        base: The first delay, in seconds.
        cap: The longest delay, in seconds, jitter included.
        jitter: A random part of each delay, up to so many times itself, is added: 0.1 for up to a tenth.
        max_tracked: How many keys are tracked.
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
        random: Random = _random.random,
    ) -> None:
        if not (0 < base <= cap < inf and jitter >= 0):
            raise ArgumentError(
                f"a rate limiter needs 0 < base <= cap < inf and jitter >= 0, not {base=}, {cap=}, {jitter=}"
            )
        self._base, self._cap, self._jitter, self._random = base, cap, jitter, random
        self._most_doublings = log2(cap / base) + 1  # beyond, the power might overflow
        self._failures: _FailureCounts[K] = _FailureCounts(max_tracked)

    def when(self, key: K, now: float) -> float:
        """Count a failure of a key; returns how many seconds it has to wait."""
        del now
        failures = self._failures.count(key)
        if failures >= self._most_doublings:
            return self._cap
        delay = self._base * 2.0**failures
        return min(jittered(delay, self._jitter, self._random) if self._jitter else delay, self._cap)

    def forget(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.forget(key)

    def num_requeues(self, key: K) -> int:
        """How many failures of a key are counted."""
        return self._failures.get(key)


@set_module("masthead.workqueue")
class FastSlowRateLimiter(Generic[K]):
    """Retries a key quickly a few times, and slowly from then on.

    Failures are counted until `forget`, of the `max_tracked` keys that failed last.

    Args:
        fast: The delay of the first retries, in seconds.
        slow: The delay of all others, in seconds.
        max_fast_attempts: How many retries are fast.
        max_tracked: How many keys are tracked.

    Raises:
        ArgumentError: If a delay or `max_fast_attempts` is negative, or `max_tracked` is less than 1.
    """

    def __init__(self, fast: float, slow: float, max_fast_attempts: int, *, max_tracked: int = MAX_TRACKED) -> None:
        if not (fast >= 0 and slow >= 0 and max_fast_attempts >= 0):
            raise ArgumentError(f"delays and attempts must not be negative: {fast=}, {slow=}, {max_fast_attempts=}")
        self._fast, self._slow, self._max_fast = fast, slow, max_fast_attempts
        self._failures: _FailureCounts[K] = _FailureCounts(max_tracked)

    def when(self, key: K, now: float) -> float:
        """Count a failure of a key; returns how many seconds it has to wait."""
        del now
        return self._fast if self._failures.count(key) < self._max_fast else self._slow

    def forget(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.forget(key)

    def num_requeues(self, key: K) -> int:
        """How many failures of a key are counted."""
        return self._failures.get(key)


@set_module("masthead.workqueue")
class BucketRateLimiter(Generic[K]):
    """Limits the rate of all keys together, with a token bucket. It has no memory of single keys.

    Args:
        rate: How many keys per second.
        burst: How many at once, after an idle time.

    Raises:
        ArgumentError: If `rate` is not positive, or `burst` is less than 1.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        if not (rate > 0 and burst >= 1):
            raise ArgumentError(f"a rate limiter needs rate > 0 and burst >= 1, not {rate=}, {burst=}")
        self._bucket = TokenBucket(rate, burst)

    def when(self, key: K, now: float) -> float:
        """Take the next token; returns how many seconds it is away."""
        del key
        return self._bucket.take(now)

    def forget(self, key: K) -> None:
        """Do nothing: tokens are not those of a key."""

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
        """Count a failure of a key; returns the longest delay."""
        return max([limiter.when(key, now) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Forget the failures of a key in all limiters."""
        for limiter in self._limiters:
            limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """The largest number of failures that a limiter counts of a key."""
        return max([limiter.num_requeues(key) for limiter in self._limiters])


@set_module("masthead.workqueue")
class MaxWaitRateLimiter(Generic[K]):
    """The delay of another limiter, but at most so many seconds.

    Args:
        limiter: The other one.
        max_wait: The longest delay.

    Raises:
        ArgumentError: If `max_wait` is negative.
    """

    def __init__(self, limiter: QueueRateLimiter[K], max_wait: float) -> None:
        if not max_wait >= 0:
            raise ArgumentError(f"max_wait must not be negative, but is {max_wait}", value=max_wait)
        self._limiter, self._max_wait = limiter, max_wait

    def when(self, key: K, now: float) -> float:
        """Count a failure of a key; returns how many seconds it has to wait."""
        return min(self._limiter.when(key, now), self._max_wait)

    def forget(self, key: K) -> None:
        """Forget the failures of a key."""
        self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """How many failures of a key are counted."""
        return self._limiter.num_requeues(key)


@set_module("masthead.workqueue")
def default_rate_limiter() -> QueueRateLimiter[Hashable]:
    """Make the limiter that queues have by default: 5 ms to 1000 s for each key, and 10 per second with bursts of 100.

    The longer of both delays counts.
    """
    return MaxOfRateLimiter[Hashable](ItemExponentialRateLimiter(), BucketRateLimiter())
