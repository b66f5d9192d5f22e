"""The types of objects and parameters, for the type checking of policies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from masthead._cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_type,
)
from masthead._schema.builtin.definitions import DEFINITIONS, schema_of_kind
from masthead._schema.openapi import custom_object
from masthead._schema.rule_types import escape
from masthead._schema.schema import REF_PREFIX, Schema
from masthead_server import scheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.resources.resource import ServedResource

__all__ = ["declare_resource"]

_SCALARS: Final = {"boolean": BOOL, "integer": INT, "number": DOUBLE}
_FORMATS: Final = {"byte": BYTES, "date": TIMESTAMP, "date-time": TIMESTAMP, "duration": DURATION}
_CIRCULAR: Final = Schema(type="object")
"""The type of a reference that leads back to itself."""


def declare_resource(served: ServedResource) -> Type | None:
    """Return the type of the objects of a resource; None if their schema declares none."""
    definition = served.definition
    if definition is None:
        schema = schema_of_kind(scheme.object_class(served.gvk))
    else:
        # A definition without a schema has the type of unstructured data.
        schema = custom_object(definition.schema if definition.schema != Schema() else None, served.gvk)
    # kube-apiserver adds the nanoseconds of the clock, so that no two types have the same name.
    return _declare(schema, f"{served.kind}0", frozenset())


class _SchemaFields(Mapping[str, Type]):
    """The fields of an object, by their names in expressions; each is declared when it is first used.

    The schema of a pod has thousands of them, and a policy uses a few.
    """

    def __init__(self, schema: Schema, name: str, visited: frozenset[str]) -> None:
        self._schema = schema
        self._name = name
        self._visited = visited
        self._declared: dict[str, Type | None] = {}

    @cached_property
    def _properties(self) -> dict[str, Schema]:
        names = ((escape(name), nested) for name, nested in self._schema.properties.items())
        return {name: nested for name, nested in names if name is not None}

    def __getitem__(self, name: str) -> Type:
        if name not in self._declared:
            nested = self._properties[name]
            self._declared[name] = _declare(nested, f"{self._name}.{name}", self._visited)
        found = self._declared[name]
        # Expressions cannot see fields of unknown types, such as quantities.
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._properties if self.get(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _declare(schema: Schema, name: str, visited: frozenset[str]) -> Type | None:
    """Return the type of a schema; None if it declares none.

    Args:
        schema: The schema.
        name: The name of the type, if it is an object.
        visited: The references that lead here.
    """
    schema, visited = _resolve(schema, visited)
    # Definitions mark such a union by an extension, built-in types by a format.
    if schema.int_or_string or schema.format == "int-or-string":
        return DYN
    if schema.type == "array":
        items = None if schema.items is None else _declare(schema.items, f"{name}.@idx", visited)
        return None if items is None else list_of(items)
    if schema.type == "object":
        # An object with both has only its entries in expressions, as on the real server.
        if isinstance(schema.additional_properties, Schema):
            values = _declare(schema.additional_properties, f"{name}.@elem", visited)
            return None if values is None else map_of(STRING, values)
        return object_type(name, _SchemaFields(schema, name, visited))
    if schema.type == "string":
        return _FORMATS.get(schema.format, STRING)
    return _SCALARS.get(schema.type)


def _resolve(schema: Schema, visited: frozenset[str]) -> tuple[Schema, frozenset[str]]:
    # Documents wrap a reference in allOf, to give it a description or a default.
    reference = schema.ref or next((part.ref for part in schema.all_of if part.ref), "")
    if not reference:
        return schema, visited
    name = reference.removeprefix(REF_PREFIX)
    if name in visited:
        return _CIRCULAR, visited
    return DEFINITIONS.require(name), visited | {name}
