"""OpenAPI: the documents that describe what a server serves, made from its catalog and from schemas.

From the bottom up: ``operations`` (one operation, and the parameters of a path), ``paths`` (those of a group-version),
``documents`` (whole documents of version 3), ``service`` (all documents of a server, kept).
"""
