"""The input of the generator: schemas and resources, from any source.

Only those fields of a schema are declared that the generator reads; msgspec validates them and ignores the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.merge import ListType, MapType
from masthead._meta.resource import Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIRE_NAMES: Final = {
    "additional_properties": "additionalProperties",
    "all_of": "allOf",
    "embedded_resource": "x-kubernetes-embedded-resource",
    "int_or_string": "x-kubernetes-int-or-string",
    "kinds": "x-kubernetes-group-version-kind",
    "list_map_keys": "x-kubernetes-list-map-keys",
    "list_type": "x-kubernetes-list-type",
    "map_type": "x-kubernetes-map-type",
    "patch_merge_key": "x-kubernetes-patch-merge-key",
    "patch_strategy": "x-kubernetes-patch-strategy",
    "ref": "$ref",
}


class OpenApiSchema(msgspec.Struct, frozen=True, rename=_WIRE_NAMES):
    """An OpenAPI v3 schema, or that of a CustomResourceDefinition.

    Attributes:
        type: ``string``, ``object`` and so on; empty for any type.
        format: The format of a string or number: ``byte``, ``date-time``.
        description: The API's documentation.
        nullable: Whether null is a value of it.
        pattern: The pattern of a string.
        default: The default that the server sets.
        required: The required properties.
        properties: The fields of an object.
        additional_properties: The values of a map.
        items: The items of a list.
        ref: A reference to another schema: ``#/components/schemas/`` and its full name.
        all_of: A single entry combines a `ref` with a default or a description.
        kinds: The kinds that it is the schema of.
        list_type: How server-side apply merges a list.
        list_map_keys: The fields that name an item of a list of type ``map``.
        map_type: How server-side apply merges a map or an object.
        patch_strategy: How a strategic merge patch merges it; several are separated by commas.
        patch_merge_key: The field that names an item to a strategic merge patch.
        int_or_string: Whether it is a number or a string.
        embedded_resource: Whether it is a whole object of some kind.
    """

    type: str | list[str] = ""
    format: str = ""
    description: str = ""
    nullable: bool = False
    pattern: str = ""
    default: Any = None
    required: frozenset[str] = frozenset()
    properties: dict[str, OpenApiSchema] = {}
    additional_properties: OpenApiSchema | bool = False
    items: OpenApiSchema | None = None
    ref: str = ""
    all_of: list[OpenApiSchema] = []
    kinds: list[GroupVersionKind] = []
    list_type: ListType = "atomic"
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType = ""
    patch_strategy: str = ""
    patch_merge_key: str = ""
    int_or_string: bool = False
    embedded_resource: bool = False

    @property
    def target(self) -> str:
        """The full name of the schema that this one refers to, or nothing."""
        ref = self.ref or (self.all_of[0].ref if len(self.all_of) == 1 else "")
        return ref.rpartition("/")[2]

    @property
    def is_map(self) -> bool:
        """Whether it is a map: an object with arbitrary keys and values of one type."""
        return not self.properties and isinstance(self.additional_properties, OpenApiSchema)

    @property
    def is_class(self) -> bool:
        """Whether it is an object with declared fields, or without any fields yet."""
        return bool(self.properties or self.kinds) or (self.type == "object" and not self.is_map)

    def targets(self) -> Iterator[str]:
        """The full names of all schemas that it refers to, directly or in nested schemas."""
        if self.target:
            yield self.target
        if self.items is not None:
            yield from self.items.targets()
        if isinstance(self.additional_properties, OpenApiSchema):
            yield from self.additional_properties.targets()
        for inner in self.properties.values():
            yield from inner.targets()


@dataclass(slots=True)
class Spec:
    """The schemas and resources of an API.

    Attributes:
        schemas: By their full names, such as ``io.k8s.api.core.v1.Pod``.
        resources: By the kind that they serve.
    """

    schemas: dict[str, OpenApiSchema] = field(default_factory=dict[str, OpenApiSchema])
    resources: dict[GroupVersionKind, Resource] = field(default_factory=dict[GroupVersionKind, Resource])
