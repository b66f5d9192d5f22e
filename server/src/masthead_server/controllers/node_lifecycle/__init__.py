"""The life cycle of nodes: heartbeats, taints, evictions, and orphaned pods.

=================  ==================================================================================================
`assignments`      the pods of a node
`node_health`      when a node is unreachable, and its conditions then
`node_taints`      the taints that follow from the conditions of a node
`zones`            the rate at which the nodes of a zone are tainted, by its health
`lifecycle`        the node lifecycle controller
`toleration`       how long a pod tolerates taints
`taint_eviction`   evicts pods from tainted nodes
`pod_collector`    deletes orphaned pods, and finished pods beyond a limit
=================  ==================================================================================================
"""
