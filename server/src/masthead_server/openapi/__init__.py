"""OpenAPI: the documents that describe the served API, built from the catalog and from schemas.

From the bottom up: ``operations`` (operations of a path), ``paths`` (paths of a group-version), ``enums`` (values of
enumerated types), ``custom`` (schemas of custom resources), ``documents`` (version 3), ``swagger`` (version 2),
``gnostic`` (version 2 in protobuf), ``service`` (all documents of a server, cached).
"""
