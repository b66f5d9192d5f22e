"""The scheduler: filters and scores nodes, binds pods, and preempts pods of lower priority.

From the bottom up:

======================  ==============================================================================
`facts`                 the decoded fields of pods and nodes
`requests`              the resources that a pod requests, as whole numbers
`rejections`            reasons why nodes do not fit, and their summary
`labels`                selectors of labels and of nodes, compiled once
`affinity_terms`        affinity of pods to pods, compiled once
`topology_constraints`  constraints on the distribution of pods, compiled once
`pods`                  a pod with its requests, constraints and claims
`nodes`                 a node with the sum of its pods' requests
`state`                 all nodes and pods, updated after every write
`taints`                taints and tolerations
`node_checks`           checks of one node at a time: taints, affinity, ports, resources
`pod_affinity`          required affinity between pods
`pod_preferences`       preferred affinity between pods
`topology_spread`       the distribution of pods over the domains of their constraints
`volumes`               claims and volumes of a pod, and the nodes that reach them
`stored_claims`         reads of claims, volumes and storage classes
`default_selectors`     selectors of Services and workloads for default spreading
`exclusive_claims`      claims with the access mode ReadWriteOncePod
`scores`                scores of feasible nodes
`algorithm`             the choice of a node for a pod
`disruption`            disruption budgets during preemption
`preemption`            the choice of victims for a pod of higher priority
`pending`               the queue of pending pods
`binding`               the writes of the scheduler
`scheduler`             the controller
======================  ==============================================================================
"""
