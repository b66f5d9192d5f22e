"""The metaclass of API types, reduced to what introspection needs; `model` adds the rest.

A type may have substitute subclasses: one for implicit instances (created by reading an unset field), and any number
with additional fields that a newer server sent. `api_type` of each of them is the class as declared.
"""

from __future__ import annotations

import functools
import keyword
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from msgspec import UNSET

from masthead._meta.locks import fork_safe_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ApiType(msgspec.StructMeta):
    """The metaclass of API types."""

    declared: Mapping[str, object]
    """Attribute to annotation, as declared in the class body, before it is adapted for msgspec."""
    api_type: ApiType
    """The declared class: this class, or the class that it substitutes."""
    module_globals: Mapping[str, object]
    """The globals of the defining module, where annotations are evaluated. Stored, because the module may be imported a
    second time, and its name then refers to other classes."""
    is_implicit: bool
    """Whether instances were created by reading an unset field, not set explicitly."""


# The class stores the following under names with an underscore, because no field has such a name.


def implicit_default(cls: ApiType) -> msgspec.Struct | None:
    """Return what implicit instances of a class start as; None if they start empty."""
    return cast("msgspec.Struct | None", vars(cls).get("_implicit_default"))


def defaults_in(cls: ApiType) -> Mapping[str, object]:
    """Return the defaults of fields in a class body, by attribute; a default factory is an `implicit.Factory`.

    A required field has no entry.
    """
    return cast("Mapping[str, object]", vars(cls).get("_defaults", {}))


def rules_of(cls: ApiType) -> tuple[object, ...]:
    """Return the validation rules of a class and its bases."""
    bases = reversed(cls.__mro__)
    return tuple(rule for base in bases for rule in cast("tuple[object, ...]", vars(base).get("_rules", ())))


def construct(cls: ApiType, values: Mapping[str, object]) -> object:
    """Create an instance from valid values, without checks."""
    return msgspec.StructMeta.__call__(cls, **values)


def subclass(cls: ApiType, annotations: Mapping[str, object], rename: Mapping[str, str]) -> ApiType:
    """Create a substitute for `cls` with changed or additional fields, all unset by default.

    Args:
        cls: The class as declared.
        annotations: Attribute to type; an attribute of `cls` keeps its slot and its default.
        rename: Attribute to name on the wire.
    """
    standing = dict(zip(cls.__struct_fields__, cls.__struct_defaults__, strict=True))
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__annotations__": dict(annotations),
        **{name: standing.get(name, UNSET) for name in annotations},
    }
    make = cast("Any", type(cls))
    return cast("ApiType", make(cls.__name__, (cls,), namespace, api_type=cls, plain=True, rename=dict(rename)))


@functools.cache
def implicit(cls: ApiType) -> ApiType:
    """Return the substitute for implicit instances."""
    made = subclass(cls, {}, {})
    type.__setattr__(made, "is_implicit", True)
    return made


def with_unknown(cls: ApiType, keys: tuple[str, ...]) -> ApiType:
    """Return the substitute with these additional fields, in this order after its own."""
    if sum(map(len, keys)) <= _MAX_NAMES:
        return _kept_with_unknown(cls, keys)
    return _with_unknown(cls, keys)


_MAX_NAMES: Final = 4096
"""The total length of unknown field names up to which the substitute class is cached."""


# Bounded, because a server could send any number of different names. An evicted class lives on with its instances;
# equality does not depend on it.
@functools.lru_cache(maxsize=512)
def _kept_with_unknown(cls: ApiType, keys: tuple[str, ...]) -> ApiType:
    return _with_unknown(cls, keys)


def _with_unknown(cls: ApiType, keys: tuple[str, ...]) -> ApiType:
    rename = unknown_attributes(cls, keys)
    return subclass(cls, dict.fromkeys(rename, Any), rename)


def unknown_attributes(cls: ApiType, keys: tuple[str, ...]) -> dict[str, str]:
    """Choose attributes for unknown fields: their own names, if those are identifiers and not taken."""
    attributes: dict[str, str] = {}
    for key in keys:
        attribute = key if _is_free(cls, key) else f"unknown_{len(attributes)}"
        while attribute in attributes or not _is_free(cls, attribute):
            attribute += "_"
        attributes[attribute] = key
    return attributes


def _is_free(cls: ApiType, key: str) -> bool:
    return key.isidentifier() and not keyword.iskeyword(key) and not hasattr(cls, key) and key[0] != "_"


MAX_UNKNOWN_FIELDS: Final = 256
"""The maximum number of unknown fields that are remembered; a newer Kubernetes does not send more."""
MAX_NAME: Final = 256
"""The maximum length of the name of a remembered field."""


_learning: Final = fork_safe_lock()


class UnknownFields:
    """The fields that newer servers sent and that the types do not declare, by type.

    Threads: all methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._fields: dict[ApiType, tuple[str, ...]] = {}
        self.count = 0
        """The number of remembered fields."""

    def learn(self, cls: ApiType, keys: Iterable[str]) -> None:
        """Remember additional fields of a type."""
        with _learning:
            known = self._fields.get(cls, ())
            fresh = (key for key in keys if key not in known and len(key) <= MAX_NAME)
            new = tuple(fresh)[: MAX_UNKNOWN_FIELDS - self.count]
            self._fields[cls] = known + new
            self.count += len(new)

    def of(self, cls: ApiType) -> tuple[str, ...]:
        """Return the remembered fields of a type."""
        return self._fields.get(cls, ())


UNKNOWN_FIELDS: Final = UnknownFields()
"""The unknown fields that this process has seen."""
