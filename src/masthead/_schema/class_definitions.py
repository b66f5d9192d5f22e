"""The schemas of classes, by the names of the classes; each is created when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from masthead._schema.builtin.server_defaults import defaults_of
from masthead._schema.classes import FieldFacts, TypeFacts, schema_of_class
from masthead._schema.schema import REF_PREFIX, Definitions, Schema

if TYPE_CHECKING:
    from masthead._meta.apitype import ApiType

__all__ = ["CLASS_DEFINITIONS", "ClassDefinitions"]

_RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_RAW_FIELDS: Final = {
    "AllocatedDeviceStatus": ("data",),
    "ControllerRevision": ("data",),
    "OpaqueDeviceConfiguration": ("parameters",),
}
"""Fields of built-in types that hold any JSON and are owned as a whole; the class does not tell."""
_SCALAR: Final = Schema(type="string", format="int-or-string")
"""The schema of a type that is not a class, such as a time, a quantity or an IntOrString."""


class ClassDefinitions(Definitions):
    """The schemas of classes. It is thread-safe: schemas that two threads create for one class are equal."""

    def __init__(self) -> None:
        super().__init__()
        self._classes: dict[str, ApiType] = {}
        self._made: dict[str, Schema] = {}

    def reference(self, cls: ApiType) -> Schema:
        """Return a reference to the schema of a class."""
        return Schema(ref=REF_PREFIX + self._name_of(cls))

    def get(self, name: str) -> Schema | None:
        """Return the schema of a full name; a name that is not that of a class is a scalar."""
        if name not in self._made:
            cls = self._classes.get(name)
            self._made[name] = _SCALAR if cls is None else self._make(cls)
        return self._made[name]

    def _make(self, cls: ApiType) -> Schema:
        made = schema_of_class(cls, self._name_of, _facts_of(cls))
        defaults = defaults_of(str(cls.module_globals["__name__"]), cls.__name__)
        if not defaults:
            return made
        stated = {name: replace(made.properties[name], default=value) for name, value in defaults.items()}
        return replace(made, properties={**made.properties, **stated})

    def _name_of(self, cls: ApiType) -> str:
        """The full name of a class; `get` finds the class by it from then on."""
        name = f"{cls.module_globals['__name__']}.{cls.__name__}"
        self._classes[name] = cls
        return name


def _facts_of(cls: ApiType) -> TypeFacts:
    """The defaults of fields, some of which are keys of list items, such as the protocol of a port; and raw JSON."""
    defaults = cast("dict[str, Any]", cast("Any", cls).DEFAULTS)
    facts = {name: FieldFacts(default=value) for name, value in defaults.items()}
    facts |= {name: FieldFacts(target=_RAW_EXTENSION) for name in _RAW_FIELDS.get(cls.__name__, ())}
    return TypeFacts(fields=facts)


CLASS_DEFINITIONS: Final = ClassDefinitions()
