"""The group node.k8s.io."""
