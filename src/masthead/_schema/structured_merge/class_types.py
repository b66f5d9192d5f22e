"""The merge types of kinds, from their classes or from their managed fields."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.metadata import ObjectMeta
from masthead._schema.class_definitions import CLASS_DEFINITIONS
from masthead._schema.schema import Schema
from masthead._schema.structured_merge.extraction import schema_of_fields
from masthead._schema.structured_merge.types import MergeTypes

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object
    from masthead._schema.field_sets import FieldSet
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["merge_type_of_class", "merge_type_of_fields", "merge_type_of_unknown_kind"]

_TYPES: Final = MergeTypes(CLASS_DEFINITIONS)


@functools.cache
def merge_type_of_class(cls: type[Object]) -> MergeType:
    """Return how objects of a generated class merge."""
    return _TYPES.of(CLASS_DEFINITIONS.reference(cast("ApiType", cls)))


@functools.cache
def merge_type_of_unknown_kind() -> MergeType:
    """Return how objects of an unknown kind merge: only the type of their metadata is known."""
    metadata = CLASS_DEFINITIONS.reference(cast("ApiType", ObjectMeta))
    return _TYPES.of(Schema(type="object", properties={"metadata": metadata}, preserve_unknown=True))


def merge_type_of_fields(fields: FieldSet) -> MergeType:
    """Return how the fields of a set merge, as the set implies it: for objects of an unknown kind."""
    metadata = CLASS_DEFINITIONS.reference(cast("ApiType", ObjectMeta))
    properties = schema_of_fields(fields.root).properties
    return _TYPES.of(Schema(type="object", properties={**properties, "metadata": metadata}))
