"""The controllers of workloads: Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers get pods.

Pods without a kubelet stay pending until a client writes their status.
"""
