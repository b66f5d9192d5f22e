"""Work queues: keys that wait to be processed, each at most once at a time, with delays, rate limits and priorities.

`masthead.WorkQueue`, for threads, is here too; its async namesake is `masthead.aio.WorkQueue`.

The names below can be imported from here; each is imported when it is first used.
"""

from masthead._lazy import exports

TYPE_CHECKING = False  # type checkers know better; importing typing would take longer than all of this
if TYPE_CHECKING:
    from masthead._sansio.rate_limiters import BucketRateLimiter as BucketRateLimiter
    from masthead._sansio.rate_limiters import FastSlowRateLimiter as FastSlowRateLimiter
    from masthead._sansio.rate_limiters import ItemExponentialRateLimiter as ItemExponentialRateLimiter
    from masthead._sansio.rate_limiters import MaxOfRateLimiter as MaxOfRateLimiter
    from masthead._sansio.rate_limiters import MaxWaitRateLimiter as MaxWaitRateLimiter
    from masthead._sansio.rate_limiters import QueueRateLimiter as QueueRateLimiter
    from masthead._sansio.rate_limiters import default_rate_limiter as default_rate_limiter
    from masthead._sansio.workqueue import LOW_PRIORITY as LOW_PRIORITY
    from masthead._workqueue.blocking import WorkQueue as WorkQueue
    from masthead._workqueue.stats import WorkQueueStats as WorkQueueStats
    from masthead.errors import QueueShutDownError as QueueShutDownError

_HOMES = {
    "BucketRateLimiter": "masthead._sansio.rate_limiters",
    "FastSlowRateLimiter": "masthead._sansio.rate_limiters",
    "ItemExponentialRateLimiter": "masthead._sansio.rate_limiters",
    "MaxOfRateLimiter": "masthead._sansio.rate_limiters",
    "MaxWaitRateLimiter": "masthead._sansio.rate_limiters",
    "QueueRateLimiter": "masthead._sansio.rate_limiters",
    "default_rate_limiter": "masthead._sansio.rate_limiters",
    "LOW_PRIORITY": "masthead._sansio.workqueue",
    "WorkQueue": "masthead._workqueue.blocking",
    "WorkQueueStats": "masthead._workqueue.stats",
    "QueueShutDownError": "masthead.errors",
}

if not TYPE_CHECKING:  # or a misspelt name would pass for an object
    __getattr__, __dir__ = exports(__name__, _HOMES)
