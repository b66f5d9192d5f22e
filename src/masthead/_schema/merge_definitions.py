"""The merge rules of built-in kinds, from their classes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, cast

from masthead._schema.classes import schema_of_class
from masthead._schema.merge_rules import SchemaMergeRules
from masthead._schema.schema import REF_PREFIX, Definitions, Schema

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object

__all__ = ["merge_rules_of"]


@functools.cache
def merge_rules_of(cls: type[Object]) -> SchemaMergeRules:
    """Return how strategic merge patches merge objects of a built-in kind."""
    name = _DEFINITIONS.name_of(cast("ApiType", cls))
    return SchemaMergeRules(Schema(ref=REF_PREFIX + name), _DEFINITIONS)


class _ClassDefinitions(Definitions):
    """The schemas of classes by the names of these; each is made when it is first needed."""

    def __init__(self) -> None:
        super().__init__()
        self._classes: dict[str, ApiType] = {}
        self._made: dict[str, Schema] = {}

    def name_of(self, cls: ApiType) -> str:
        """Return the full name of a class, which it makes known."""
        name = f"{cls.module_globals['__name__']}.{cls.__name__}"
        self._classes[name] = cls
        return name

    def get(self, name: str) -> Schema | None:
        """Return the schema of a full name; what is no class is a scalar, such as a time."""
        if name not in self._made:
            cls = self._classes.get(name)
            self._made[name] = _SCALAR if cls is None else schema_of_class(cls, self.name_of)
        return self._made[name]


_SCALAR: Final = Schema(type="string")
_DEFINITIONS: Final = _ClassDefinitions()
