"""The group resource.k8s.io."""
