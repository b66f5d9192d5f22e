"""The group events.k8s.io."""
