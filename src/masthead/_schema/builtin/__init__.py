"""The schemas of Kubernetes' own types, by their full names.

From the bottom up: ``facts`` (generated: what the classes do not say), ``definitions`` (the schemas, made when first
used);
``server_defaults`` (defaults that OpenAPI does not state).
"""
