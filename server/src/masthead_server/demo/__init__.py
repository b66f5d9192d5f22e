"""The demo: a small cluster lives and fails, and informers and controllers keep up with it.

| module | contents |
|---|---|
| `cluster` | the embedded API server, with injected faults and a restart |
| `life` | what people and machines do to the cluster: roll-outs, scaling, a node that fails, vandals |
| `mirror` | a shared informer factory with indices by node and owner, and handlers that record their notifications |
| `controllers` | the rules: pods have nodes, no pod stays on a failed node, deployments have disruption budgets |
| `lag` | the time from a write to its notification |
| `event_log` | the history, as lines |
| `view` | all of it, live in a terminal |
| `comparison` | whether caches and server agree in the end |
| `show` | the whole: `main` |

It uses public names of the package only, like any program.
"""
