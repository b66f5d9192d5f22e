"""Work queues: a deduplicating queue of keys with delays, rate limits and priorities, on an event loop or for threads.

| module | contents |
|---|---|
| `metrics` | what a queue counts, under client-go's names |
| `base` | what both queues share: everything that does not wait |
| `queue` | the queue of an event loop |
| `blocking` | the queue for threads |

The decisions are in `masthead._sansio`: `workqueue` and `rate_limiters`.
"""
