"""The text of ``explain``: a kind or a field of an OpenAPI v3 document, laid out as kubectl does. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._cli.word_wrap import indent, wrap
from masthead._meta.plain import entries, part, text, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from masthead._meta.plain import Plain

__all__ = ["SchemaText"]

_WIDTH: Final = 80
_SHOWN_VALUES: Final = 4
"""How many values of an enumeration the line of a field has."""


class SchemaText:
    """Writes about one schema and its fields.

    The order of steps is that of kubectl's template: a field is looked for in the properties, then in the items of a
    list, the values of a map, and the alternatives of ``allOf``.

    Args:
        schema: The schema.
        resolve: Returns the schema that a ``$ref`` names; an empty one for an unknown name.
        recursive: Whether the fields of fields are listed, each in one line.
    """

    def __init__(self, schema: Plain, resolve: Callable[[str], Plain], *, recursive: bool) -> None:
        self._schema = schema
        self._resolve_ref = resolve
        self._recursive = recursive

    def render(self, path: Sequence[str]) -> str:
        """Return the text about the field at a path, or about the schema itself; empty if there is no such field."""
        return self._explain(self._schema, path, frozenset())

    def names_beside(self, path: Sequence[str]) -> list[str]:
        """Return the names of the fields that stand at a path; none if nothing does."""
        found: list[Plain] = [self._schema]
        for name in path:
            found = [properties[name] for schema in self._flatten(found) if name in (properties := _properties(schema))]
        return sorted({name for schema in self._flatten(found) for name in _properties(schema)})

    def _flatten(self, schemas: Sequence[Plain]) -> Iterator[Plain]:
        """Yield schemas, and the schemas of their items, values and alternatives."""
        pending, seen = list(schemas), set[str]()
        while pending:
            schema = pending.pop()
            ref = text(schema, "$ref")
            if ref and ref in seen:
                continue
            seen.add(ref)
            resolved = self._resolve(schema)
            yield resolved
            pending += (*_contents(resolved), *entries(resolved, "allOf"))

    def _resolve(self, schema: Plain) -> Plain:
        ref = text(schema, "$ref")
        return (self._resolve_ref(ref) if ref else {}) or schema

    def _explain(self, schema: Plain, path: Sequence[str], seen: frozenset[str]) -> str:
        ref, resolved = text(schema, "$ref"), self._resolve(schema)
        if not path:
            return self._describe(resolved)
        if ref in seen:
            return ""
        if path[0] in (properties := _properties(resolved)):
            field = properties[path[0]]
            heading = f"FIELD: {path[0]} <{self._guess_type(field)}>\n{_long_enum(field)}\n\n" if not path[1:] else ""
            return f"{heading}{self._explain(field, path[1:], frozenset())}"
        # Items and values exclude the alternatives; of several alternatives, the first with the field counts.
        following = _contents(resolved)[:1] or entries(resolved, "allOf")
        seen = seen | {ref} if ref else seen
        return next(filter(None, (self._explain(sub, path, seen) for sub in following)), "")

    def _describe(self, schema: Plain) -> str:
        description = "".join(self._descriptions(schema, frozenset())) or "<empty>"
        fields = "".join(self._list_fields(schema, 1, frozenset()))
        return "".join(
            (
                f"DESCRIPTION:\n{indent(wrap(description, _WIDTH - 4), 4)}\n",
                _external_docs(schema, 0, 4),
                f"FIELDS:\n{fields}" if fields else "",
            )
        )

    def _descriptions(self, schema: Plain, seen: frozenset[str]) -> Iterator[str]:
        """Yield the descriptions of a schema and of its parts."""
        ref = text(schema, "$ref")
        if ref and ref in seen:
            return
        resolved = self._resolve(schema)
        if description := text(resolved, "description"):
            yield f"{description}\n"
        for sub in (*entries(resolved, "allOf"), *_contents(resolved)):
            yield from self._descriptions(sub, seen | {ref})

    def _list_fields(self, schema: Plain, level: int, seen: frozenset[str]) -> Iterator[str]:
        ref, resolved = text(schema, "$ref"), self._resolve(schema)
        # A type that contains itself is listed once on each path.
        if ref and ref in seen:
            return
        seen = seen | {ref} if ref else seen
        required = texts(resolved, "required")
        for name, field in sorted(_properties(resolved).items()):
            yield self._field(name, field, level, is_required=name in required)
            if self._recursive:
                yield from self._list_fields(field, level + 1, seen)
        for sub in (*entries(resolved, "allOf"), *_contents(resolved)):
            yield from self._list_fields(sub, level, seen)

    def _field(self, name: str, field: Plain, level: int, *, is_required: bool) -> str:
        margin = 2 * level
        mark = " -required-" if is_required else ""
        line = f"{' ' * margin}{name}\t<{self._guess_type(field)}>{mark}{_short_enum(field, margin)}\n"
        if self._recursive:
            return line
        description = text(field, "description") or "<no description>"
        about = indent(wrap(description, _WIDTH - 2 - margin), margin + 2)
        return f"{line}{about}\n{_external_docs(field, margin + 2, margin + 4)}\n"

    def _guess_type(self, schema: Plain) -> str:
        """Return the type of a field in a word: ``string``, ``[]Container``, ``map[string]string``."""
        if schema.get("items"):
            return f"[]{self._guess_type(part(schema, 'items'))}"
        if values := _values(schema):
            return f"map[string]{self._guess_type(values)}"
        alternatives = entries(schema, "allOf")
        if len(alternatives) == 1 and not schema.get("properties"):
            return self._guess_type(alternatives[0])
        ref = text(schema, "$ref")
        kind = text(self._resolve_ref(ref) if ref else schema, "type")
        if ref and kind in {"", "object"}:
            return ref.rpartition("/")[2].rpartition(".")[2] or "Object"
        return "Object" if kind in {"", "object"} else kind


def _properties(schema: Plain) -> dict[str, Plain]:
    properties = part(schema, "properties")
    return {name: part(properties, name) for name in properties}


def _values(schema: Plain) -> Plain:
    """The schema of a map's values; an empty one if it is no map."""
    # A boolean only allows or forbids other fields.
    return part(schema, "additionalProperties")


def _contents(schema: Plain) -> list[Plain]:
    """The schemas of a list's items, and of a map's values."""
    return [found for found in (part(schema, "items"), _values(schema)) if found]


def _external_docs(schema: Plain, heading: int, content: int) -> str:
    """Return the section about other documents, after an empty line; empty if there are none.

    Args:
        schema: The schema.
        heading: The margin of the heading.
        content: The margin of the lines below it.
    """
    docs = part(schema, "externalDocs")
    if not docs:
        return ""
    lines = ["", indent("EXTERNAL DOCS:", heading)]
    if description := text(docs, "description"):
        lines.append(indent(wrap(description, _WIDTH - content), content))
    if url := text(docs, "url"):
        lines.append(indent(f"URL: {url}", content))
    return "".join(f"{line}\n" for line in lines)


def _enum(schema: Plain) -> list[str]:
    found = schema.get("enum")
    if not isinstance(found, list):
        return []
    return [_value_text(value) for value in cast("list[object]", found)]


def _value_text(value: object) -> str:
    match value:
        case "":
            return '""'
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _long_enum(schema: Plain) -> str:
    values = _enum(schema)
    return "".join(("ENUM:", *(f"\n    {value}" for value in values))) if values else ""


def _short_enum(schema: Plain, margin: int) -> str:
    values = _enum(schema)
    more = ", ...." if len(values) > _SHOWN_VALUES else ""
    return f"\n{' ' * margin}enum: {', '.join(values[:_SHOWN_VALUES])}{more}" if values else ""
