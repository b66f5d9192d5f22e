"""`Schema`: a type of value, its fields and its constraints, as a tree.

It is OpenAPI v3 as Kubernetes uses it, and the same for built-in kinds, for the documents of a server and for
CustomResourceDefinitions. msgspec reads it from JSON, and writes it without unset properties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import msgspec

from masthead._meta import typeinfo
from masthead._meta.gvk import GroupVersionKind
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CONTAINERS", "REF_PREFIX", "Definitions", "Json", "Rule", "Schema", "is_list", "is_object"]

Json: TypeAlias = Any
"""A plain JSON value."""


def is_object(value: object) -> TypeGuard[dict[str, Json]]:
    """Tell whether a plain value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Json]]:
    """Tell whether a plain value is a list."""
    return isinstance(value, list)


CONTAINERS: Final[frozenset[type]] = frozenset({dict, list})
"""The classes of plain values that contain others."""
REF_PREFIX: Final = "#/components/schemas/"
"""What precedes the full name of a schema in a reference of OpenAPI v3."""

_WIRE_NAMES: Final = {
    "additional_properties": "additionalProperties",
    "all_of": "allOf",
    "any_of": "anyOf",
    "embedded_resource": "x-kubernetes-embedded-resource",
    "exclusive_maximum": "exclusiveMaximum",
    "external_docs": "externalDocs",
    "exclusive_minimum": "exclusiveMinimum",
    "int_or_string": "x-kubernetes-int-or-string",
    "kinds": "x-kubernetes-group-version-kind",
    "list_map_keys": "x-kubernetes-list-map-keys",
    "list_type": "x-kubernetes-list-type",
    "map_type": "x-kubernetes-map-type",
    "max_items": "maxItems",
    "max_length": "maxLength",
    "max_properties": "maxProperties",
    "min_items": "minItems",
    "min_length": "minLength",
    "min_properties": "minProperties",
    "multiple_of": "multipleOf",
    "not_": "not",
    "one_of": "oneOf",
    "patch_merge_key": "x-kubernetes-patch-merge-key",
    "patch_strategy": "x-kubernetes-patch-strategy",
    "preserve_unknown": "x-kubernetes-preserve-unknown-fields",
    "ref": "$ref",
    "rules": "x-kubernetes-validations",
    "selectable_fields": "x-kubernetes-selectable-fields",
    "unique_items": "uniqueItems",
    "unions": "x-kubernetes-unions",
}


@set_module("masthead.crd")
class Rule(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A validation rule in CEL, of ``x-kubernetes-validations``.

    Attributes:
        rule: The expression; it is false for an invalid value.
        message: The message of the error.
        message_expression: An expression that computes the message.
        reason: The reason of the error: ``FieldValueInvalid`` by default.
        field_path: The field that the error names, relative to the value.
        optional_old_self: Whether a transition rule is evaluated without an old value, too.
    """

    rule: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


class Schema(msgspec.Struct, frozen=True, omit_defaults=True, rename=_WIRE_NAMES, gc=False):
    """The schema of a value.

    A property that is `msgspec.UNSET`, None, empty or false is unset, and not written.

    Attributes:
        ref: A reference to another schema: `REF_PREFIX` and its full name. Nothing else is set then.
        type: ``object``, ``array``, ``string``, ``integer``, ``number`` or ``boolean``; empty for any type.
        format: The format of a string or number: ``byte``, ``date-time``, ``int32``.
        title: A short description.
        description: The documentation.
        default: The value that the server sets; UNSET if it is not declared.
        example: An example for readers; UNSET if there is none.
        external_docs: The address of further documentation, and a description of it.
        nullable: Whether null is a value of it.
        properties: The fields of an object.
        required: The fields that an object must have.
        additional_properties: The values of a map; true or false if any or no further fields are allowed.
        items: The items of a list.
        enum: The only valid values.
        maximum: The largest number.
        exclusive_maximum: Whether `maximum` itself is invalid.
        minimum: The smallest number.
        exclusive_minimum: Whether `minimum` itself is invalid.
        multiple_of: What a number must be a multiple of.
        max_length: The most characters of a string.
        min_length: The fewest characters of a string.
        pattern: The regular expression, in RE2's syntax, that a string must match somewhere.
        max_items: The most items of a list.
        min_items: The fewest items of a list.
        unique_items: Whether no two items of a list may be equal.
        max_properties: The most fields of an object.
        min_properties: The fewest fields of an object.
        all_of: Schemas that must all hold. OpenAPI documents also write a reference with a default this way.
        any_of: Schemas of which at least one must hold.
        one_of: Schemas of which exactly one must hold.
        not_: A schema that must not hold.
        preserve_unknown: Whether undeclared fields are preserved.
        embedded_resource: Whether it is a whole object, with apiVersion, kind and metadata.
        int_or_string: Whether it is an integer or a string.
        list_type: How lists are merged: ``atomic``, ``set`` or ``map``; empty means atomic.
        list_map_keys: The fields that identify an item of a list of type ``map``.
        map_type: How objects are merged: ``granular`` or ``atomic``; empty means granular.
        rules: Validation rules in CEL.
        patch_strategy: How a strategic merge patch merges it; several are separated by commas.
        patch_merge_key: The field that identifies an item to a strategic merge patch.
        kinds: The kinds that it is the schema of.
        unions: Which of the fields exclude each other, as the API describes it.
        selectable_fields: Which fields a field selector may name, as documents state it for custom resources.
    """

    ref: str = ""
    title: str = ""
    description: str = ""
    type: str = ""
    format: str = ""
    default: Any = msgspec.UNSET
    example: Any = msgspec.UNSET
    external_docs: dict[str, str] | None = None
    nullable: bool = False
    properties: dict[str, Schema] = {}
    required: tuple[str, ...] = ()
    additional_properties: Schema | bool | None = None
    items: Schema | None = None
    enum: tuple[Any, ...] = ()
    maximum: int | float | None = None
    exclusive_maximum: bool = False
    minimum: int | float | None = None
    exclusive_minimum: bool = False
    multiple_of: int | float | None = None
    max_length: int | None = None
    min_length: int | None = None
    pattern: str = ""
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    max_properties: int | None = None
    min_properties: int | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    one_of: tuple[Schema, ...] = ()
    not_: Schema | None = None
    preserve_unknown: bool | None = None
    embedded_resource: bool = False
    int_or_string: bool = False
    list_type: str | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: str | None = None
    rules: tuple[Rule, ...] = ()
    patch_strategy: str = ""
    patch_merge_key: str = ""
    kinds: tuple[GroupVersionKind, ...] = ()
    unions: tuple[Any, ...] = ()
    selectable_fields: tuple[dict[str, str], ...] = ()

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Schema:
        """Read a schema from plain data; fields that no schema has are ignored.

        Raises:
            msgspec.ValidationError: If a field has the wrong type.
        """
        return _from_plain(plain)

    @property
    def target(self) -> str:
        """The full name of the schema that this one refers to; empty if it refers to none."""
        ref = self.ref or (self.all_of[0].ref if len(self.all_of) == 1 else "")
        return ref.removeprefix(REF_PREFIX)

    @property
    def has_default(self) -> bool:
        """Whether the server sets a default."""
        return self.default is not msgspec.UNSET

    @property
    def is_map(self) -> bool:
        """Whether it is a map: an object with arbitrary keys and values of one type."""
        return not self.properties and isinstance(self.additional_properties, Schema)

    def children(self) -> Iterator[Schema]:
        """Yield the schemas of the fields, values and items."""
        yield from self.properties.values()
        if isinstance(self.additional_properties, Schema):
            yield self.additional_properties
        if self.items is not None:
            yield self.items


class Definitions:
    """Schemas by their full names, such as ``io.k8s.api.core.v1.Pod``, for the references among them.

    Args:
        schemas: The schemas. A subclass may look them up elsewhere, and when they are first needed.
    """

    def __init__(self, schemas: Mapping[str, Schema] | None = None) -> None:
        self._schemas = schemas or {}

    def get(self, name: str) -> Schema | None:
        """Return the schema of a full name; None if it does not exist."""
        return self._schemas.get(name)

    def resolve(self, schema: Schema) -> Schema:
        """Return what a schema refers to, or the schema itself if it is no reference.

        Raises:
            KeyError: If there is no such schema.
        """
        while schema.target:
            found = self.get(schema.target)
            if found is None:
                raise KeyError(schema.target)
            schema = found
        return schema


_from_plain = typeinfo.converter(Schema)
