"""The life of nodes: heartbeats, taints, evictions, and the pods that nodes leave behind.

=================  ==================================================================================================
`assignments`      the pods of a node
`node_health`      when a node is unreachable, and its conditions then
`node_taints`      the taints that follow from the conditions of a node
`zones`            how fast the nodes of a zone are tainted, while others are unhealthy
`lifecycle`        the node lifecycle controller
`toleration`       how long a pod tolerates taints
`taint_eviction`   evicts pods from tainted nodes
`pod_collector`    deletes orphaned pods, and finished pods beyond a limit
=================  ==================================================================================================
"""
