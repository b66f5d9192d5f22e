"""Controllers, and the manager that runs them.

| module | contents |
|---|---|
| `controller`, `declarations`, `predicates`, `requests` | declarations: controllers, watched kinds, filters, requests
and results | | `manager`, `options` | the manager and the options of its runs | | `runtime`,
`replica_roles`, `controller_runner`, `manager_checks` | one run: caches, leadership, terms of controllers, checks | |
`reconcile_loop` | a running controller, composed of the following | | `event_registrations`, `event_source`,
`mapping_retries` | from events to requests: owners, mappers and their retries | | `request_processor`,
`reconcile_queue`, `flights`, `flight` | from requests to reconciles: reasons, retries, reruns, held changes | |
`worker_tasks`, `reconcile_runner`, `invocation`, `reconcile_logs`,
`reconcile_observer`, `reconcile_recording` | workers, single reconciles, their outcomes and recordings | |
`write_detection`, `unseen_writes`, `catch_up` | own writes, and caches that do not show them yet | | `shard_filter`,
`sharded_run`, `shard_member`, `shard_group` | replicas that divide the objects | | `context`, `cache_reader`,
`owner_index` | the context of a reconcile, reads from caches, the owner index | | `server_side_apply`,
`applied_configurations`, `ownership` | `ctx.apply`: owners, and proof that nothing would change | | `primary_writer`,
`status`, `finalization`, `deletion` | other writes of the context | | `sources`, `timers`, `client_arguments`,
`thread_runner` | other functions of the program, and threads for plain ones | | `controller_services` |
services that the controllers of a manager share | | `permissions`, `rbac_rules` | the RBAC rules that a manager needs |
| `probe_server`, `checks`, `metrics_page`, `debug_pages`, `debug_snapshot`, `stacks`, `manager_page` | ``/healthz``,
``/readyz``, ``/metrics`` and ``/debug``, and the page beside it | | `logs`, `log_formatters`,
`log_values` | log fields of a reconcile; JSON and text | | `user_errors` | errors of the user's functions | |
`main_loop`, `signals`, `watchdog`, `daemon_threads`, `loop_metrics` | the process: event loop, signals, blocked loop,
threads, metrics |
"""
