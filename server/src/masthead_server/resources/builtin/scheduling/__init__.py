"""The group scheduling.k8s.io."""
