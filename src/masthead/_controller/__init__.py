"""Controllers and what runs them.

| module | contents |
|---|---|
| `bind_address`, `options` | how a manager runs, from code, environment and arguments |
| `signals` | SIGTERM and SIGINT: a graceful stop, then an immediate one |
| `log_values`, `logs`, `log_formatters` | controller, object and reconcile id in every log line; JSON and text |
| `http_requests`, `http_server` | a small HTTP server: GET and HEAD, bounded |
| `user_errors` | what the user's functions raise, and whom it concerns |
| `main_loop` | the event loop of a program, to its end |
| `catch_up` | caches that show what the server has, before anything is reconciled |
| `daemon_threads`, `checks`, `metrics_page`, `stacks`, `debug_pages` | what it serves |
| `permissions`, `rules` | what a manager may have to do, as RBAC rules |
| `shard_group`, `shard_member` | replicas that share the objects: their leases, and who may work on what |
| `probe_server` | ``/healthz``, ``/livez``, ``/readyz``, ``/metrics``, ``/debug`` |
"""
