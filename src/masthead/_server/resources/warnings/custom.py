"""What is questionable about definitions of custom resources, and about their objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.behavior import WarningHooks
from masthead._server.wire.failures import quoted
from masthead._server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_KNOWN_FINALIZERS: Final = ("foregroundDeletion", "kubernetes", "orphan")


def _finalizers(new: Plain, old: Plain) -> list[str]:
    added = set(_finalizers_of(new)).difference(_finalizers_of(old))
    found: list[str] = []
    for each in sorted(added):
        if "/" in each or each in _KNOWN_FINALIZERS:
            continue
        better = " including a path (/)" if "." in each else ""
        found.append(
            f"metadata.finalizers: {quoted(each)}: prefer a domain-qualified finalizer name{better}"
            " to avoid accidental conflicts with other finalizer writers"
        )
    return found


def _finalizers_of(obj: Plain) -> list[str]:
    return part(obj, "metadata").get("finalizers") or []


def _new_formats(new: Plain, old: Plain) -> list[str]:
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


OBJECTS: Final = WarningHooks(lambda new: _finalizers(new, {}), _finalizers)
"""What is said of any custom resource's objects."""
WARNINGS: Final = {"customresourcedefinitions": WarningHooks(lambda new: _new_formats(new, {}), _new_formats)}
"""What is said of each kind, by its resource."""
