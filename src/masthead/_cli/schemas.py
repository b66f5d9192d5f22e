"""The schemas of an OpenAPI v3 document, with the descriptions of ``masthead.api`` where they have none. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cli.api_docstrings import OBJECT_FIELDS, TypeDescription, describe_schema
from masthead._meta.plain import entries, part, text

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead._meta.plain import Plain

__all__ = ["Schemas", "with_descriptions"]

_KINDS: Final = "x-kubernetes-group-version-kind"


class Schemas:
    """Finds schemas of a document.

    Args:
        document: The document of a group and version.
    """

    def __init__(self, document: Plain) -> None:
        self._schemas = part(document, "components", "schemas")
        self._described: dict[str, Plain] = {}

    def of_kind(self, gvk: GroupVersionKind) -> Plain:
        """Return the schema of a kind; an empty one for an unknown kind."""
        wanted = {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
        names = (name for name in self._schemas if wanted in entries(part(self._schemas, name), _KINDS))
        name = next(names, None)
        return {} if name is None else self._named(name)

    def resolve(self, ref: str) -> Plain:
        """Return the schema that a ``$ref`` names; an empty one for an unknown name."""
        return self._named(ref.removeprefix("#/components/schemas/"))

    def _named(self, name: str) -> Plain:
        if name not in self._described:
            schema = part(self._schemas, name)
            # Parsing a module takes a tenth of a second, which servers with descriptions save.
            described = schema if _is_described(schema) else with_descriptions(schema, describe_schema(name))
            if schema.get(_KINDS):
                described = with_descriptions(described, TypeDescription(fields=OBJECT_FIELDS))
            self._described[name] = described
        return self._described[name]


def _is_described(schema: Plain) -> bool:
    properties = part(schema, "properties")
    return bool(text(schema, "description")) and all(text(part(properties, name), "description") for name in properties)


def with_descriptions(schema: Plain, known: TypeDescription) -> Plain:
    """Return a schema with descriptions for itself and its fields, where it has none."""
    made = dict(schema)
    if known.text and not text(schema, "description"):
        made["description"] = known.text
    properties = part(schema, "properties")
    if properties:
        made["properties"] = {
            name: {**properties[name], "description": known.fields[name]}
            if name in known.fields and not text(part(properties, name), "description")
            else properties[name]
            for name in properties
        }
    return made
