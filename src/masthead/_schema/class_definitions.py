"""The schemas of classes, by the names of the classes; each is made when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from masthead._schema.classes import FieldFacts, TypeFacts, schema_of_class
from masthead._schema.schema import REF_PREFIX, Definitions, Schema

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType

__all__ = ["CLASS_DEFINITIONS", "ClassDefinitions"]

_SCALAR: Final = Schema(type="string", format="int-or-string")
"""The schema of a type that is no class, such as a time, a quantity or a number that may be a string."""


class ClassDefinitions(Definitions):
    """The schemas of classes.

    Threads may use it at once: a schema that two of them make is the same.
    """

    def __init__(self) -> None:
        super().__init__()
        self._classes: dict[str, ApiType] = {}
        self._made: dict[str, Schema] = {}

    def reference(self, cls: ApiType) -> Schema:
        """Return a reference to the schema of a class."""
        return Schema(ref=REF_PREFIX + self._name_of(cls))

    def get(self, name: str) -> Schema | None:
        """Return the schema of a full name; what is no class is a scalar."""
        if name not in self._made:
            cls = self._classes.get(name)
            self._made[name] = _SCALAR if cls is None else schema_of_class(cls, self._name_of, _facts_of(cls))
        return self._made[name]

    def _name_of(self, cls: ApiType) -> str:
        """The full name of a class, which is known from then on."""
        name = f"{cls.module_globals['__name__']}.{cls.__name__}"
        self._classes[name] = cls
        return name


def _facts_of(cls: ApiType) -> TypeFacts:
    """The defaults of fields, some of which identify items of lists, such as the protocol of a port."""
    defaults = cast("dict[str, Any]", cast("Any", cls).DEFAULTS)
    return TypeFacts(fields={name: FieldFacts(default=value) for name, value in defaults.items()})


CLASS_DEFINITIONS: Final = ClassDefinitions()
