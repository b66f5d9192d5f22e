"""Work queues: a deduplicating queue of keys with delays, rate limits and priorities, on an event loop or for threads.

| module | contents |
|---|---|
| `metrics` | a queue's metrics, under client-go's names |
| `stats` | a queue's state for a debug page |
| `base` | methods that do not wait, for both queues |
| `loop_queue`, `thread_queue` | waiting workers: tasks of an event loop, and threads |
| `queue` | `masthead.aio.WorkQueue`; its blocking namesake is generated from it |

The decisions are in `masthead._sansio`: `workqueue` and `rate_limiters`.
"""
