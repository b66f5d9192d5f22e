"""Informers: resources mirrored in memory, indexed, with change notifications.

| package | what lives there |
|---|---|
| `factory` | `factory` (SharedInformerFactory), `informers`, `selection`, and the generated `groups` |
| `informer` | `informer` (SharedInformer, and its contract), `core` (its parts), `controller`, `sinks` |
| | `processor`, `delta_processor` (store and notifications), `handlers`, `dispatcher`, `registration` |
| | `health`, `persistence` (snapshots), `mutation_detector`, `progress` |
| `reflector` | `reflector`, `sources`, `foreign` (sources that are not the library's own), `sink`, `ingest` |
| | `snapshot_builder`, `undecodable`, `server_identity`, `status`, `metrics` |
| `store` | `store`, `indexer`, `lister`, `storage` (lazy, eager), `compact` (compressed), `transforms`, `snapshot` (the file format) |
| `options`, `callables` | InformerOptions; checks of the callers' functions |

The decisions are in `masthead._sansio`: the list-watch machine, queues, the indexed store, buffers, resyncs.
"""
