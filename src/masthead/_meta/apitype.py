"""The metaclass of API types, as far as those need it who only look at types; `model` supplies the rest.

A type may have subclasses that pass for it: one whose instances nobody set, and any number that have further
fields, which a newer server sent. `api_type` leads from each of them to the class that its author wrote.
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
    """A type of the API."""

    declared: Mapping[str, object]
    """Attribute to annotation, as the class body says it and before msgspec's needs changed it."""
    api_type: ApiType
    """The class as its author wrote it: itself, or what this one passes for."""
    module_globals: Mapping[str, object]
    """The globals of the module that the class stands in, where its annotations are evaluated. Kept, because the module
    may be imported a second time, and its name then leads to other classes."""
    is_implicit: bool
    """Whether instances were brought to life by reading an unset field, and not set by anybody."""


def construct(cls: ApiType, values: Mapping[str, object]) -> object:
    """Make an instance from values that are known to fit."""
    return msgspec.StructMeta.__call__(cls, **values)


def subclass(cls: ApiType, annotations: Mapping[str, object], rename: Mapping[str, str]) -> ApiType:
    """Make a class that passes for `cls` and has other or further fields, none of which is set by default.

    Args:
        cls: The class as its author wrote it.
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
    return cast(
        "ApiType", make(cls.__name__, (cls,), namespace, api_type=cls, plain=True, rename=dict(rename))
    )


@functools.cache
def implicit(cls: ApiType) -> ApiType:
    """The subclass whose instances nobody set."""
    made = subclass(cls, {}, {})
    type.__setattr__(made, "is_implicit", True)
    return made


def with_unknown(cls: ApiType, keys: tuple[str, ...]) -> ApiType:
    """The subclass of a type that has these further fields of the wire, in this order after its own."""
    if sum(map(len, keys)) <= _MAX_NAMES:
        return _kept_with_unknown(cls, keys)
    return _with_unknown(cls, keys)


_MAX_NAMES: Final = 4096
"""Characters that the names of an object's unknown fields may have together for its class to be kept."""


# Bounded: a server could send any number of different names. A class that falls out lives on with its
# instances, and equality does not look at it.
@functools.lru_cache(maxsize=512)
def _kept_with_unknown(cls: ApiType, keys: tuple[str, ...]) -> ApiType:
    return _with_unknown(cls, keys)


def _with_unknown(cls: ApiType, keys: tuple[str, ...]) -> ApiType:
    rename = unknown_attributes(cls, keys)
    return subclass(cls, dict.fromkeys(rename, Any), rename)


def unknown_attributes(cls: ApiType, keys: tuple[str, ...]) -> dict[str, str]:
    """Attributes for unknown fields: their own names, where those are names and free."""
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
"""How many unknown fields are remembered; a server that sends more than this is no newer Kubernetes."""
MAX_NAME: Final = 256
"""How long the name of one may be."""


_learning: Final = fork_safe_lock()


class UnknownFields:
    """The fields that newer servers sent and our types do not know, by the type that they came in.

    Threads: may be learnt and read from any.
    """

    def __init__(self) -> None:
        self._fields: dict[ApiType, tuple[str, ...]] = {}
        self.count = 0
        """How many there are."""

    def learn(self, cls: ApiType, keys: Iterable[str]) -> None:
        """Remember that a type has these fields on newer servers."""
        with _learning:
            known = self._fields.get(cls, ())
            fresh = (key for key in keys if key not in known and len(key) <= MAX_NAME)
            new = tuple(fresh)[: MAX_UNKNOWN_FIELDS - self.count]
            self._fields[cls] = known + new
            self.count += len(new)

    def of(self, cls: ApiType) -> tuple[str, ...]:
        """What is known of a type."""
        return self._fields.get(cls, ())


UNKNOWN_FIELDS: Final = UnknownFields()
"""What this process has learnt."""
