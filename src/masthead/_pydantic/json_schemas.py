"""The JSON schema of a class: its fields, with references to the classes of nested types.

pydantic stores each class once, below ``$defs``, or ``components`` in an OpenAPI document. A class may contain itself,
so the reachable classes are collected first, and described one at a time.
"""

from __future__ import annotations

import enum
import functools
import re
import sys
import types
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType
from pydantic_core import core_schema

from masthead._customresource.defaults import MISSING, declared_default, plain_default
from masthead._customresource.docstrings import attribute_docs, summary_of
from masthead._customresource.embedded_types import is_builtin
from masthead._customresource.field_types import constrain, fields_in
from masthead._meta import shape
from masthead._meta.annotations import UNIONS
from masthead._meta.apitype import ApiType
from masthead._meta.implicit import Factory
from masthead._meta.object import Object
from masthead._meta.quantity import Quantity
from masthead._meta.time import MicroTime
from masthead._schema.builtin.definitions import DEFINITIONS, name_of
from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic_core.core_schema import CoreSchema

    from masthead._schema.field import Field

__all__ = ["QUANTITY", "TIME", "JsonSchema", "describe_type", "reference_of"]

JsonSchema: TypeAlias = dict[str, Any]
"""A JSON schema, as plain data."""

QUANTITY: Final[JsonSchema] = {"anyOf": [{"type": "string"}, {"type": "number"}]}
TIME: Final[JsonSchema] = {"type": "string", "format": "date-time"}
_INT_OR_STRING: Final[JsonSchema] = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
_NULL: Final[JsonSchema] = {"type": "null"}
_SCALARS: Final[Mapping[object, JsonSchema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime: TIME,
    MicroTime: TIME,
    Quantity: QUANTITY,
}
_CHOICE_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer"}
_NO_VALUES: Final = frozenset({type(None), UnsetType})
_NO_FACTS: Final = Schema()
_STATUS: Final = "status"
_NAME: Final = re.compile(r"(?<=[`.])[a-z0-9]+(?:_[a-z0-9]+)+(?=[`.\[])")
"""The name of an attribute in a docstring, such as `env_from`."""


def reference_of(cls: ApiType, arguments: tuple[ApiType, ...] = ()) -> str:
    """Return the name by which pydantic tells types apart; the name in a document follows from it."""
    name = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
    return f"{name}[{','.join(map(reference_of, arguments))}]" if arguments else name


def describe_type(
    cls: ApiType, arguments: tuple[ApiType, ...], _: CoreSchema, handler: Callable[[CoreSchema], JsonSchema]
) -> JsonSchema:
    """Return the JSON schema of a class, and have pydantic define all classes that can be reached from it.

    Args:
        cls: The class.
        arguments: Its type arguments: the class of a list's items.
        _: The schema that pydantic has.
        handler: Turns pydantic's schemas into JSON schemas.
    """
    reached = dict.fromkeys(other for root in (cls, *arguments) for other in _types_below(root))
    definitions = [_definition(other) for other in reached if other is not cls]
    handler(core_schema.definitions_schema(core_schema.any_schema(), definitions))
    return _TypeSchema(cls, arguments, handler).build()


def _definition(cls: ApiType) -> CoreSchema:
    """Return a schema whose JSON schema is that of one class; pydantic skips it if it has the class already."""

    def describe(_: CoreSchema, handler: Callable[[CoreSchema], JsonSchema]) -> JsonSchema:
        return _TypeSchema(cls, (), handler).build()

    return core_schema.any_schema(ref=reference_of(cls), metadata={"pydantic_js_functions": [describe]})


@functools.cache
def _types_below(cls: ApiType) -> tuple[ApiType, ...]:
    """Return a class and all classes that can be reached from it."""
    found = {cls: None}
    waiting = [cls]
    while waiting:
        hints = shape.annotations_of(waiting.pop()).values()
        fresh = [other for hint in hints for other in _types_in(hint) if other not in found]
        found.update(dict.fromkeys(fresh))
        waiting += dict.fromkeys(fresh)
    return tuple(found)


def _types_in(annotation: object) -> Iterator[ApiType]:
    if isinstance(annotation, ApiType):
        yield annotation
    for argument in get_args(annotation):
        yield from _types_in(argument)


class _TypeSchema:
    """Builds the JSON schema of one class; other classes are references."""

    def __init__(
        self, cls: ApiType, arguments: tuple[ApiType, ...], handler: Callable[[CoreSchema], JsonSchema]
    ) -> None:
        self._cls = cls
        self._arguments = arguments
        self._handler = handler
        self._facts = _facts_of(cls)
        self._wire_names = _wire_names_in(str(cls.module_globals.get("__name__", "")))

    def build(self) -> JsonSchema:
        """Return the schema of the class."""
        docs = attribute_docs(self._cls, of_package=True)
        hints = dict(shape.annotations_of(self._cls))
        if self._arguments:  # the items of a list that is written ObjectList[Pod]
            hints["items"] = types.GenericAlias(list, self._arguments)
        properties: JsonSchema = {}
        required: list[str] = []
        for attribute, field in shape.fields_by_attribute(self._cls).items():
            hint = hints[attribute]
            properties[field.wire] = self._field(field, hint, docs.get(attribute, ""))
            if self._is_required(field, hint):
                required.append(field.wire)
        made: JsonSchema = {"title": self._cls.__name__, "type": "object", "properties": properties}
        if description := self._translate(summary_of(self._cls)):
            made["description"] = description
        return made | ({"required": required} if required else {})

    def _field(self, field: shape.StructField, hint: object, doc: str) -> JsonSchema:
        made = self._value(hint)
        stated = self._facts.properties.get(field.wire, _NO_FACTS)
        if stated.type == "integer" and made.get("type") == "integer":
            made["format"] = stated.format
        declared = _declarations(hint)
        if field.is_nullable or any(entry.nullable for entry in declared):
            made = _or_null(made)
        if doc and "description" not in made:
            made["description"] = self._translate(doc)
        default = self._default(field, declared)
        return made if default is UNSET else {**made, "default": default}

    def _is_required(self, field: shape.StructField, hint: object) -> bool:
        if self._facts is not _NO_FACTS:
            return field.wire in self._facts.required
        said = [entry.required for entry in _declarations(hint) if entry.required is not None]
        if said:
            return said[-1]
        # A new object has no status yet.
        is_status = field.attribute == _STATUS and issubclass(cast("type", self._cls), Object)
        return declared_default(self._cls, field.attribute) is MISSING and not is_status

    def _default(self, field: shape.StructField, declared: list[Field]) -> object:
        stated: Mapping[str, object] = cast("Any", self._cls).DEFAULTS
        if field.wire in stated:
            return stated[field.wire]
        said = [entry.default for entry in declared if entry.default is not UNSET]
        given = said[-1] if said else declared_default(self._cls, field.attribute)
        # Zero values are only the readings of unset fields: nothing is written.
        if given is MISSING or given is UNSET or isinstance(given, Factory) or not given:
            return UNSET
        return plain_default(self._cls, field.attribute, given, field.wire)

    def _value(self, annotation: object) -> JsonSchema:
        """Return the schema of an annotation; anything if it has no better one."""
        if isinstance(annotation, ApiType):
            return self._handler(core_schema.definition_reference_schema(reference_of(annotation)))
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return _constrain(self._value(arguments[0]), arguments[1:])
        if origin in UNIONS:
            return self._union([member for member in arguments if member not in _NO_VALUES])
        if origin is list:
            return {"type": "array", "items": self._inner(arguments[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self._inner(arguments[1]) or True}
        return _scalar(annotation)

    def _inner(self, annotation: object) -> JsonSchema:
        """Return the schema of a list's items or a map's values, which may be null."""
        made = self._value(annotation)
        return _or_null(made) if made and shape.allows_none(annotation) else made

    def _union(self, members: list[object]) -> JsonSchema:
        if len(members) == 1:
            return self._value(members[0])
        if set(members) == {int, str}:
            return dict(_INT_OR_STRING)
        choices = [self._value(member) for member in members]
        return {"anyOf": choices} if all(choices) else {}

    def _translate(self, doc: str) -> str:
        """Write the names of attributes in a docstring as JSON has them."""
        return _NAME.sub(lambda match: self._wire_names.get(match[0], match[0]), doc)


def _declarations(annotation: object) -> list[Field]:
    """Return the `Field` objects of an annotation, also those of an optional type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return [*_declarations(arguments[0]), *fields_in(arguments[1:])]
    return [entry for member in arguments for entry in _declarations(member)] if origin in UNIONS else []


def _scalar(annotation: object) -> JsonSchema:
    """Return the schema of a type without parts; anything for types of which only msgspec knows."""
    if isinstance(annotation, type) and annotation in _SCALARS:
        return dict(_SCALARS[annotation])
    if isinstance(annotation, enum.EnumType):
        return _choices([member.value for member in cast("type[enum.Enum]", annotation)])
    return _choices(list(get_args(annotation))) if get_origin(annotation) is Literal else {}


def _choices(values: list[object]) -> JsonSchema:
    made: JsonSchema = {"const": values[0]} if len(values) == 1 else {"enum": values}
    names = {_CHOICE_TYPES.get(type(value)) for value in values}
    # Values of several types have no common one.
    return {"type": name, **made} if len(names) == 1 and (name := names.pop()) else made


def _or_null(made: JsonSchema) -> JsonSchema:
    return {"anyOf": [made, _NULL]}


def _constrain(made: JsonSchema, metadata: tuple[object, ...]) -> JsonSchema:
    """Add the constraints in the metadata of an annotation."""
    kind = made.get("type")
    if kind is None:
        return made
    plain: JsonSchema = msgspec.to_builtins(constrain(Schema(type=kind), metadata, ""))
    for limit in ("Minimum", "Maximum"):
        # A boolean in OpenAPI 3.0, and the limit itself in JSON Schema.
        if plain.get(f"exclusive{limit}") is True:
            plain[f"exclusive{limit}"] = plain.pop(limit.lower())
    return {**made, **{name: value for name, value in plain.items() if not _is_of_kubernetes(name)}}


def _is_of_kubernetes(name: str) -> bool:
    return name.startswith("x-") or name == "nullable"


def _facts_of(cls: ApiType) -> Schema:
    """Return the schema of one of Kubernetes' own types, for required fields and formats; else an empty one."""
    if not is_builtin(cls):
        return _NO_FACTS
    try:
        return DEFINITIONS.get(name_of(cls)) or _NO_FACTS
    except KeyError:
        return _NO_FACTS


@functools.cache
def _wire_names_in(module: str) -> Mapping[str, str]:
    """Return the names in JSON of all attributes of a module's types."""
    types = [value for value in vars(sys.modules[module]).values() if isinstance(value, ApiType)]
    return {
        attribute: wire
        for cls in types
        for attribute, wire in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    }
