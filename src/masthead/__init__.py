"""Kubernetes for Python."""
