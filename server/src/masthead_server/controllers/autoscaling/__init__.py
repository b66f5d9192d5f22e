"""The HorizontalPodAutoscaler controller: scales workloads by metrics.

Modules without a controller hold pure decisions: they read metrics, pods and rules, and write nothing.
"""
