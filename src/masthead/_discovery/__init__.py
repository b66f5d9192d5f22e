"""Discovery of the resources that a cluster serves, and their mapping from names, kinds and short names.

| module | contents |
|---|---|
| `model` | `DiscoveryResult`, `ServedGroup`, `ServedResource`, `ServerVersion` |
| `aggregated`, `legacy` | decoding of the two formats of discovery |
| `fetcher` | one full discovery, in either format |
| `client` | `DiscoveryClient`: discovery with a cache, its refresh and its invalidation |
| `document_cache`, `disk_cache`, `single_flight` | caches in memory and on disk; shared requests |
| `openapi` | OpenAPI v3 documents |
| `index` | lookup of names, kinds and short names in a result |
| `rest_mapper` | `RestMapper`: the same lookup, with one refresh before it fails |
"""
