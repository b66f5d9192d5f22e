"""The merge rules of built-in kinds, from their classes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

from masthead._schema.class_definitions import CLASS_DEFINITIONS
from masthead._schema.merge_rules import SchemaMergeRules

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object

__all__ = ["merge_rules_of"]


@functools.cache
def merge_rules_of(cls: type[Object]) -> SchemaMergeRules:
    """Return how strategic merge patches merge objects of a built-in kind."""
    return SchemaMergeRules(CLASS_DEFINITIONS.reference(cast("ApiType", cls)), CLASS_DEFINITIONS)
