"""The async client: typed, dynamic, metadata and scale clients, watches, waits and manifests.

| module | contents |
|---|---|
| `client`, `group`, `clientset` | the client and its API groups; the clientset is generated |
| `resource`, `typed`, `dynamic`, `metadata`, `scales`, `reviews` | the resource clients that users hold |
| `read_verbs`, `create_verbs`, `patch_verbs`, `delete_verbs`, `conflicts` | the verbs; retry on conflict |
| `subresources`, `actions`, `logs` | the verbs of subresources |
| `restarts` | restarts of workloads |
| `base`, `write_base`, `target`, `options`, `pagination` | building requests, paginated lists |
| `event`, `watch`, `watchlist` | watches |
| `rollouts`, `conditions`, `readiness`, `wait` | wait conditions, and waiting for them |
| `documents`, `install_order`, `manifest_resources`, `manifest_calls` | manifests, and what they are applied to |
| `apply_results`, `line_diffs`, `diffs`, `apply_sets` | what an apply did or would do; the objects that belong together |
| `wait_all`, `pruning`, `diff_manifests`, `manifests`, `manifest_verbs` | waiting for, pruning, comparing, applying manifests |
| `mutations` | mutating objects |
"""
