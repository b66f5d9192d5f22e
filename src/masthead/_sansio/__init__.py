"""Decisions without I/O: no module here waits, reads, starts tasks or reads a clock.

| module | contents |
|---|---|
| `framing` | splits a byte stream into lines |
| `log_lines`, `log_resume` | the lines of a log; which of them are new on the next connection |
| `backoff` | exponential backoff, and retry schedules |
| `token_bucket` | rate limiting |
| `randomness` | the source of random numbers: the system, or a test's seed |
| `retry` | the retry policy of requests |
| `warnings` | parses ``Warning`` headers |
| `listwatch`, `listwatch_steps`, `listwatch_pacing` | the list-watch machine: list, watch-list and fallback, resume |
| `versions`, `listed_state` | compares resource versions, and a cache with a list |
| `changes`, `deltafifo` | the queues of deltas, with one interface |
| `store`, `store_indices`, `slices` | the indexed store of a cache; long work in slices |
| `handler_buffer` | the pending notifications of a handler |
| `resync` | the resync schedule of handlers |
| `workqueue`, `key_order`, `rate_limiters` | the keys of a work queue, their order in tests, the delays of retries |
| `own_writes`, `reruns` | which changes are a controller's own writes, and which of them run its reconcile again |
| `sharding` | shards of a collection: hashes, slots, selectors, and which member gets which slot |
| `shard_table`, `shard_machine` | which replica owns which slot: leases, the table, and the protocol of handing over |
| `tar_headers`, `tar_decoder` | tar archives: headers in both directions, and the reader of an archive as it arrives |
| `leases`, `lease_records` | leader election: who may hold a lease, and the renew deadline of its holder |

Time and randomness are arguments: ``now`` in seconds of any monotonic clock, and ``random``, a function that returns
numbers in [0, 1). So each decision can be tested with plain values, and its driver, on an event loop or a thread, adds
only the I/O.
"""
