"""What users call: verbs, typed and dynamic, watches, waiting, manifests. The async façade.

| module | what lives there |
|---|---|
| `client`, `group`, `clientset` | the client, and its groups, which are generated |
| `resource`, `typed`, `dynamic`, `metadata`, `scales`, `reviews` | resources, as users hold them |
| `reading`, `creating`, `writing`, `deleting`, `conflicts` | the verbs |
| `subresources`, `actions`, `logs` | the parts of objects |
| `target`, `access`, `options`, `listing` | how a call is put together |
| `event`, `watch`, `watchlist` | watches |
| `conditions`, `rollouts`, `waiting` | what to wait for |
| `documents`, `ordering`, `manifests` | manifests |
| `changes`, `extraction`, `fields_v1`, `fieldpaths` | what an object becomes; what a manager owns |
"""
