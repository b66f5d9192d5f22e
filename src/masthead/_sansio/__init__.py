"""Decisions without I/O: nothing here waits, reads, starts tasks or looks at a clock.

| module | what it decides |
|---|---|
| `framing` | where one line of a stream ends and the next begins |
| `backoff` | how long to wait after a failure |
| `tokens` | when a request may go, if only so many may go in a second |
| `retry` | whether a request is tried again |
| `warnings` | what the server's ``Warning`` headers say |
| `watching` | from where a watch goes on after a drop |
| `listwatch` | how a copy of a collection is kept: listed, followed, listed again |
| `versions` | which of two resource versions came first |
| `changes`, `deltafifo` | in which order changes wait, and what a relist is; two queues with one contract |
| `store` | what a cache holds, by key and by index |
| `buffer` | what a handler has yet to hear, and what it need not hear any more |
| `resync` | when which handler is told everything again |

Time and chance are arguments: ``now`` in seconds of any clock that never goes back, and ``random``, a function whose
results lie in [0, 1). So each decision can be tested by saying what the world is like, and whoever performs it, with
an event loop or a thread, adds nothing to it.
"""
