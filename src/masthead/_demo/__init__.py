"""Informers under faults: a failing API server, and caches that stay in sync. ``python -m demo`` runs it.

| module | what it shows |
|---|---|
| `cluster` | an API server in this process, with injected faults, that is restarted halfway |
| `workload` | writes: pods and deployments are created, changed and deleted |
| `mirror` | reads: a factory, its informers, handlers and listers |
| `event_log` | log lines of several threads, faults among them, in order |
| `comparison` | compares the caches with the server |
"""
