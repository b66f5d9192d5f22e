"""Informers: resources mirrored in memory, indexed, with change notifications.

| package | contents |
|---|---|
| `factory` | `factory` (SharedInformerFactory), `informers`, `selection`, and the generated `groups` |
| `informer` | `informer` (SharedInformer, and its contract), and its parts: `pipeline`, `local_store`, `handler_registry`, |
| | `lifecycle`, `waits`, `snapshots` (seeding and saving), `health` |
| | `controller`, `sinks`, `processor`, `delta_processor` (from changes to store and notifications) |
| | `handlers`, `dispatcher`, `registration`, `mutation_detector`, `progress`, `forks` |
| `reflector` | `reflector`, `sources`, `foreign` (sources of other libraries), `sink`, `ingest`, `state_builder` |
| | `undecodable`, `server_identity`, `status`, `metrics` |
| `store` | `store`, `indexer`, `lister`, `storage` (lazy, eager), `compact` (compressed), `transforms`, `snapshot_file` |
| `options`, `callables` | InformerOptions; checks of callers' functions |

The decisions are in `masthead._sansio`: the list-watch machine, queues, the indexed store, buffers, resyncs.
"""
