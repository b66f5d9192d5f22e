"""The async client: typed, dynamic, metadata and scale clients, watches, waits and manifests.

| module | contents |
|---|---|
| `client`, `group`, `clientset` | the client and its API groups; the clientset is generated |
| `resource`, `typed`, `dynamic`, `metadata`, `scales`, `reviews` | the resource clients that users hold |
| `read_verbs`, `create_verbs`, `patch_verbs`, `delete_verbs`, `conflicts` | the verbs; retry on conflict |
| `subresources`, `actions`, `logs` | the verbs of subresources |
| `base`, `write_base`, `target`, `options`, `pagination` | building requests, paginated lists |
| `event`, `watch`, `watchlist` | watches |
| `conditions`, `rollouts`, `wait` | wait conditions, and waiting for them |
| `documents`, `install_order`, `manifests` | manifests |
| `mutations` | mutating objects |
"""
