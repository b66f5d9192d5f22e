"""Warnings about CustomResourceDefinitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import quoted
from masthead._server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._server.wire.plain import Plain

_STRING_FORMATS: Final = frozenset(
    {
        "bsonobjectid",
        "byte",
        "cidr",
        "creditcard",
        "date",
        "datetime",
        "duration",
        "email",
        "hexcolor",
        "hostname",
        "ipv4",
        "ipv6",
        "isbn",
        "isbn10",
        "isbn13",
        "k8slongname",
        "k8sshortname",
        "mac",
        "password",
        "rgbcolor",
        "ssn",
        "uri",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
    }
)
"""The formats of text that mean something, without their dashes."""
_FORMATS: Final = {
    "": _STRING_FORMATS,
    "string": _STRING_FORMATS,
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"float", "double"}),
}


def format_warnings(new: Plain, old: Plain) -> list[str]:
    """Return warnings about formats in schemas that are unknown, and were not there before."""
    known = set(_unknown_formats(old))
    fresh = [each for each in dict.fromkeys(_unknown_formats(new)) if each not in known]
    return [f"unrecognized format {quoted(each)}" for each in fresh]


def _unknown_formats(definition: Plain) -> Iterator[str]:
    for version in items(part(definition, "spec"), "versions"):
        yield from _formats_in(part(part(version, "schema"), "openAPIV3Schema"))


def _formats_in(root: Plain) -> Iterator[str]:
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        name = text(schema, "format")
        kind = text(schema, "type")
        plain_name = name if kind in {"integer", "number"} else name.replace("-", "")
        if name and plain_name not in _FORMATS.get(kind, ()):
            yield name
        waiting.extend(reversed(list(_schemas_in(schema))))


def _schemas_in(schema: Plain) -> Iterator[Plain]:
    yield from filter(None, [part(schema, "items")])
    for name in ("allOf", "anyOf", "oneOf"):
        yield from items(schema, name)
    yield from filter(None, [part(schema, "not")])
    yield from part(schema, "properties").values()
    yield from filter(None, [part(schema, "additionalProperties")])
