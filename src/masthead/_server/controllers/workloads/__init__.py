"""The controllers of workloads: ReplicationControllers, ReplicaSets and Deployments get the pods that they call for.

There is no scheduler and no kubelet, so the pods stay pending until a client writes their status.
"""
