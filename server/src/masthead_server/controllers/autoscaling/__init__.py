"""The HorizontalPodAutoscaler controller: as many replicas as the metrics call for.

Modules without a controller decide: they read metrics, pods and rules, and write nothing.
"""
