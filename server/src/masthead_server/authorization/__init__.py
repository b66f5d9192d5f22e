"""Authorization: what a user may do.

From the bottom up: `policy_rules` and `authorizer` (what decides, and about what), `covering` (which rules include
which), `role_index` and `rbac` (roles and bindings), `node_graph` and `node` (kubelets), `always_allow`, `union`,
`modes` (the authorizers of a server), `requests` (the attributes and refusals of requests), `escalation` (who may grant
which permissions).
"""
