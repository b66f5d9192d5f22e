"""Documents of OpenAPI v3: the paths of a group-version and the schemas that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from masthead._schema.schema import REF_PREFIX, Schema
from masthead._server.openapi.paths import META

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from masthead._meta.gvk import GroupVersion
    from masthead._schema.schema import Definitions
    from masthead._server.openapi.operations import Json

__all__ = ["CUSTOM_INFO", "INFO", "document_of", "with_kinds"]

INFO: Final[Json] = {"title": "Kubernetes", "version": "1.36"}
CUSTOM_INFO: Final[Json] = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_SECURITY: Final[Json] = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}
_OF_EVERY_GROUP: Final = (f"{META}DeleteOptions", f"{META}WatchEvent")
"""Schemas of kinds that every group-version has."""


def document_of(
    paths: Mapping[str, Json],
    definitions: Definitions,
    group_versions: Iterable[GroupVersion] = (),
    *,
    info: Json = INFO,
) -> bytes:
    """Write a document: paths, and the schemas that they refer to, directly or through others.

    Args:
        paths: The paths.
        definitions: Where schemas are looked up.
        group_versions: Those that the kinds of options and events are listed for, beside the core group.
        info: Title and version.

    Raises:
        KeyError: If there is no schema for a reference.
    """
    schemas = dict(sorted(_needed(_references(paths), definitions)))
    for name in _OF_EVERY_GROUP:
        if name in schemas:
            schemas[name] = with_kinds(schemas[name], group_versions)
    components: Json = {"schemas": schemas} if schemas else {}
    if info is INFO:
        components["securitySchemes"] = _SECURITY
    return msgspec.json.encode({"openapi": "3.0.0", "info": info, "paths": paths, "components": components})


def with_kinds(schema: Schema, group_versions: Iterable[GroupVersion]) -> Schema:
    """Return the schema of a kind that other group-versions have, too, with all its kinds."""
    own = schema.kinds[0]
    others = sorted(
        (each.kind(own.kind) for each in group_versions), key=lambda gvk: (gvk.group, gvk.version)
    )
    return msgspec.structs.replace(schema, kinds=tuple(dict.fromkeys((own, *others))))


def _references(plain: object) -> Iterator[str]:
    """Yield the names of schemas that plain data refers to."""
    if isinstance(plain, list):
        for each in plain:
            yield from _references(each)
    elif isinstance(plain, dict):
        if isinstance(target := plain.get("$ref"), str):
            yield target.removeprefix(REF_PREFIX)
        for each in plain.values():
            yield from _references(each)


def _needed(names: Iterable[str], definitions: Definitions) -> Iterator[tuple[str, Schema]]:
    """Yield schemas by their names, and all that they refer to."""
    queue, seen = list(names), set[str]()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        schema = definitions.get(name)
        if schema is None:
            raise KeyError(name)
        queue += _targets(schema)
        yield name, schema


def _targets(schema: Schema) -> Iterator[str]:
    if schema.target:
        yield schema.target
    for child in schema.children():
        yield from _targets(child)
