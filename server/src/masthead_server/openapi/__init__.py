"""OpenAPI: the documents that describe what a server serves, made from its catalog and from schemas.

From the bottom up: ``operations`` (one operation, and those of a path), ``paths`` (those of a group-version), ``enums``
(values of enumerated types), ``custom`` (schemas of custom resources), ``documents`` (version 3), ``swagger`` (version 2), ``gnostic`` (version 2 in protobuf),
``service`` (all documents of a server, kept).
"""
