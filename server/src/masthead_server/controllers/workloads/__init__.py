"""The controllers of workloads: Deployments, ReplicaSets, StatefulSets and ReplicationControllers get their pods.

There is no scheduler and no kubelet, so the pods stay pending until a client writes their status.
"""
