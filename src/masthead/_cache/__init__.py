"""Informers: resources mirrored in memory, indexed, with change notifications.

| package | contents |
|---|---|
| `factory` | `factory` (SharedInformerFactory), `informers`, `selection`, and the generated `groups` |
| `informer` | `informer` (SharedInformer, and its contract); its parts: `pipeline`, `local_store`, `lifecycle`, |
| | `handler_registry`, `waits`, `snapshots` (seeding and saving), `health` |
| | `controller`, `sinks`, `processor`, `delta_processor` (from changes to store and notifications) |
| | `handlers`, `processor_listener`, `registration`, `mutation_detector`, `progress`, `forks` |
| `reflector` | `reflector`, `watch_list_fallback`, `event_intake`, `ingest`, `state_builder`, `undecodable` |
| | `failure_reporter`, `server_identity`, `shard_selection`, `status`, `metrics` |
| | `sources`, `foreign` (sources of other libraries), `sink` |
| `store` | `store`, `indexer`, `mutable_indexer`, `lister`, `transforms`, `snapshot_file` |
| | `storage` (lazy, eager), `compact` (compressed) |
| `options`, `callables` | InformerOptions; checks of callers' functions |

The decisions are in `masthead._sansio`: the list-watch machine, queues, the indexed store, buffers, resyncs.
"""
