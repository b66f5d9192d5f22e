"""The merge types of classes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, cast

from masthead._schema.class_definitions import CLASS_DEFINITIONS
from masthead._schema.structured_merge.types import MergeTypes

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["merge_type_of_class"]

_TYPES: Final = MergeTypes(CLASS_DEFINITIONS)


@functools.cache
def merge_type_of_class(cls: type[Object]) -> MergeType:
    """Return how objects of a class merge: a generated one, or one of the user's own."""
    return _TYPES.of(CLASS_DEFINITIONS.reference(cast("ApiType", cls)))
