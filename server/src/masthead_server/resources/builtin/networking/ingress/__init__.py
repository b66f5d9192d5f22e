"""Ingresses."""
