"""The group discovery.k8s.io."""
