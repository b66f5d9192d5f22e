"""Documents of OpenAPI v3: the paths of a group-version and the schemas that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.openapi.paths import META

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from masthead._meta.gvk import GroupVersion
    from masthead._schema.schema import Definitions, Schema
    from masthead_server.openapi.operations import Json, PathItem

__all__ = ["CUSTOM_INFO", "INFO", "SECURITY", "document_of", "needed_schemas", "with_shared_kinds"]

INFO: Final[Json] = {"title": "Kubernetes", "version": "1.36"}
CUSTOM_INFO: Final[Json] = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
SECURITY: Final[Json] = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}
_OF_EVERY_GROUP: Final = frozenset({f"{META}DeleteOptions", f"{META}WatchEvent"})
"""Schemas of kinds that every group-version has."""


def document_of(
    paths: Mapping[str, PathItem],
    definitions: Definitions,
    group_versions: Iterable[GroupVersion] = (),
    *,
    info: Json = INFO,
) -> bytes:
    """Write a document: paths, and the schemas that they refer to, directly or through others.

    Args:
        paths: The paths.
        definitions: Resolves references to schemas.
        group_versions: The group-versions, besides the core group, of the kinds of options and events.
        info: Title and version.

    Raises:
        KeyError: If there is no schema for a reference.
    """
    names = (name for item in paths.values() for name in item.schemas())
    schemas = with_shared_kinds(needed_schemas(names, definitions), group_versions)
    components: Json = {"schemas": schemas} if schemas else {}
    # The documents of custom resources come from another component of kube-apiserver, which declares no security.
    if info is INFO:
        components["securitySchemes"] = SECURITY
    items = {path: paths[path].plain() for path in sorted(paths)}
    return msgspec.json.encode({"openapi": "3.0.0", "info": info, "paths": items, "components": components})


def with_shared_kinds(schemas: dict[str, Schema], group_versions: Iterable[GroupVersion]) -> dict[str, Schema]:
    """Return schemas, of which those of options and events have the kinds of all these group-versions."""
    # A fixed order: the bytes of the document, and so its hash, must not depend on the order of installation.
    added = sorted(group_versions, key=lambda each: (each.group, each.version))
    found = dict(schemas)
    for name in _OF_EVERY_GROUP & schemas.keys():
        own = schemas[name].kinds[0]
        kinds = dict.fromkeys((own, *(group_version.kind(own.kind) for group_version in added)))
        found[name] = msgspec.structs.replace(schemas[name], kinds=tuple(kinds))
    return found


def needed_schemas(names: Iterable[str], definitions: Definitions) -> dict[str, Schema]:
    """Return schemas by their names, and all that they refer to, directly or through others.

    Raises:
        KeyError: If there is no schema of a name, or for a reference.
    """
    queue = list(names)
    found: dict[str, Schema] = {}
    while queue:
        name = queue.pop()
        # Schemas may refer to each other in circles.
        if name in found:
            continue
        schema = definitions.get(name)
        if schema is None:
            raise KeyError(name)
        found[name] = schema
        queue += _targets(schema)
    return dict(sorted(found.items()))


def _targets(schema: Schema) -> Iterator[str]:
    if schema.target:
        yield schema.target
    for child in schema.children():
        yield from _targets(child)
