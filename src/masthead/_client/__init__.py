"""The async client: typed, dynamic, metadata and scale clients, watches, waits and manifests.

| module | contents |
|---|---|
| `client`, `group`, `clientset` | the client and its API groups; the clientset is generated |
| `resource`, `scoped`, `typed`, `dynamic`, `metadata`, `scales`, `reviews` | the resource clients that users hold |
| `read_verbs`, `create_verbs`, `patch_verbs`, `delete_verbs`, `conflicts` | the verbs; retry on conflict |
| `create_or_update` | the decisions of `create_or_update` and `update_with_retry` |
| `last_applied`, `migration` | client-side apply, and the migration to server-side apply |
| `subresources`, `actions` | the verbs of subresources |
| `log_query`, `log_source`, `log_pods`, `log_follow`, `logs` | the log of a container, over lost connections |
| `log_line`, `log_merge`, `log_group`, `log_verbs` | the logs of many, merged |
| `proxy_names`, `proxy_stream`, `proxy_verbs` | HTTP requests through the API server's proxy |
| `restarts` | restarts of workloads |
| `base`, `write_base`, `resource_target`, `options`, `pagination` | requests, options, paginated lists |
| `watch_event`, `watch`, `listwatch` | watches, and the primitive for list-watches of your own |
| `list_by_watch` | lists from the initial events of a watch, or plain ones where the server has none |
| `rollouts`, `conditions`, `readiness`, `wait` | wait conditions, and waiting for them |
| `documents`, `install_order`, `manifest_resources`, `manifest_calls` | manifests and their resources |
| `apply_results`, `line_diffs`, `diffs`, `apply_sets` | outcomes of an apply, differences, apply sets |
| `wait_all`, `pruning`, `diff_manifests`, `manifests`, `manifest_verbs` | the verbs for all objects of manifests |
"""
