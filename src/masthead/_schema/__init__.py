"""Schemas: what the API says about the fields of a kind, and what follows from it.

There is one tree, `schema.Schema`: OpenAPI v3 with Kubernetes' extensions. It is read from OpenAPI documents, from
CustomResourceDefinitions and from generated classes. Each operation on it is a pure function in a module of its own. Nothing
here does I/O, so that client, generator and embedded server share it.
"""
