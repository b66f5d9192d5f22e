"""The demo: a small cluster lives and fails, and informers and a controller keep up with it.

| module | contents |
|---|---|
| `story` | the plot: chapters, their tasks and faults, and when each is due |
| `network` | a TCP relay whose connections can be cut or silenced |
| `cluster` | the embedded API server with its nodes, behind the network; injects the faults |
| `tasks` | what people and machines do: a rollout, a drain, a crash, a deleted budget |
| `mirror` | informers that cache the cluster, with an index by node, and handlers that keep their notifications |
| `controllers` | the rule: Deployments have disruption budgets |
| `lag` | the time from a write to its notification |
| `observation` | the cluster's own answer, which caches are compared with |
| `comparison` | whether caches and cluster agree |
| `tally` | faults: injected, and survived |
| `scene` | one moment, as data |
| `view` | a moment in a terminal |
| `ending` | the final screen |
| `event_log` | lines, where there is no picture |
| `interrupts` | Ctrl-C |
| `run` | plays the chapters |
| `show` | the command: `main` |

It uses public names of the package only, like any program.
"""
