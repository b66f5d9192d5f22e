"""The scheduler: which node runs a pod, what keeps it from running, and who has to make room.

From the bottom up:

======================  ==============================================================================
`facts`                 what the scheduler decodes of pods and nodes
`requests`              the resources that a pod requests, as whole numbers
`rejections`            why a node does not fit, and the message for all nodes
`labels`                selectors of labels and of nodes, compiled once
`affinity_terms`        affinity of pods to pods, compiled once
`topology_constraints`  constraints on the distribution of pods, compiled once
`pods`                  a pod as the scheduler sees it
`nodes`                 a node and the sum of what its pods use
`state`                 all nodes and pods, updated with every write
`taints`                taints and tolerations
`node_checks`           checks of one node at a time: taints, affinity, ports, resources
`pod_affinity`          required affinity between pods
`pod_preferences`       preferred affinity between pods
`topology_spread`       the distribution of pods over the domains of their constraints
`volumes`               claims and volumes of a pod, and the nodes that reach them
`stored_claims`         claims, volumes and storage classes as they are stored
`default_selectors`     selectors of Services and workloads, whose pods are spread
`exclusive_claims`      claims that one pod at a time may use
`scores`                which of the nodes that fit is best
`algorithm`             chooses the node of a pod
`disruption`            disruption budgets, as far as preemption heeds them
`preemption`            which pods have to make room for one of higher priority
`pending`               pods that wait for a node, in the order of their turns
`binding`               the writes of the scheduler
`scheduler`             the controller
======================  ==============================================================================
"""
