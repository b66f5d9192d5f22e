"""The workload controllers: Deployment, ReplicaSet, StatefulSet, DaemonSet and ReplicationController.

Pods without a kubelet stay pending until a client writes their status.
"""
