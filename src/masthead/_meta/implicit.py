"""Implicit values: the values of unset lists, maps and nested types.

Reading an unset field creates an implicit value and stores it, so that adding to it changes the object. It is encoded
only if it differs from the field's default; until then it is *blank*. For a default that is not empty, the implicit
value is a copy.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec
from msgspec.structs import astuple

from masthead._meta import shape
from masthead._meta.apitype import ApiType, construct, implicit, subclass
from masthead._meta.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[[], object]

__all__ = ["DefaultDict", "DefaultList", "Factory", "ImplicitDict", "ImplicitList", "is_implicit", "maker_of"]


class ImplicitList(list[Any]):
    """A list that was created by reading an unset field."""

    __slots__ = ()


class ImplicitDict(dict[str, Any]):
    """A map that was created by reading an unset field."""

    __slots__ = ()


class DefaultList(ImplicitList):
    """A copy of a default with items."""

    __slots__ = ("default",)

    def __init__(self, default: list[Any]) -> None:
        super().__init__(copy.deepcopy(default))
        self.default = default


class DefaultDict(ImplicitDict):
    """A copy of a default with entries."""

    __slots__ = ("default",)

    def __init__(self, default: dict[str, Any]) -> None:
        super().__init__(copy.deepcopy(default))
        self.default = default


class Factory(NamedTuple):
    """The default factory of a field."""

    make: object


_ZEROES: Final[dict[type, object]] = {
    str: "",
    bool: False,
    int: 0,
    float: 0.0,
    bytes: b"",
    Quantity: Quantity(0),
}


def is_implicit(value: object) -> bool:
    """Whether a value was created by reading an unset field."""
    if isinstance(value, ImplicitList | ImplicitDict):
        return True
    kind = type(value)
    return isinstance(kind, ApiType) and cast("ApiType", kind).is_implicit


def maker_of(given: object, name: str) -> Callable[[ApiType], Make] | None:
    """Return the maker of a field's implicit value; None if it has no such value.

    Args:
        given: The default in the class body: a value, a `Factory`, or NODEFAULT.
        name: The attribute.

    Returns:
        A function of the class that has the field, which returns the maker.

    Raises:
        TypeError: If the factory cannot make a default.
    """
    if given is msgspec.NODEFAULT:
        return lambda cls: functools.partial(_empty, cls, name)
    if isinstance(given, Factory):
        make = _of_factory(given.make)
        return lambda _: make
    if isinstance(given, list | dict) and not given:
        make = ImplicitList if isinstance(given, list) else ImplicitDict
        return lambda _: make
    if isinstance(given, list | dict):
        return lambda cls: _DefaultMaker(cls, name, cast("object", given))
    if isinstance(type(given), ApiType):
        return lambda cls: _DefaultMaker(cls, name, given)
    return None


def _of_factory(factory: object) -> Make:
    if factory is list:
        return ImplicitList
    if factory is dict:
        return ImplicitDict
    if isinstance(factory, ApiType):
        return functools.partial(_implicit_instance, factory)
    raise TypeError(f"{factory!r} cannot make a default: use list, dict or a type of the API")


def _implicit_instance(cls: ApiType) -> object:
    return construct(implicit(cls), {})


class _DefaultMaker:
    """Makes copies of a default; it is checked when it is first needed, because its type may be defined later."""

    __slots__ = ("_attribute", "_cls", "_given", "_make")

    def __init__(self, cls: ApiType, attribute: str, given: object) -> None:
        self._cls = cls
        self._attribute = attribute
        self._given = given
        self._make: Make | None = None

    def __call__(self) -> object:
        if self._make is None:
            self._make = self._prepare()
        return self._make()

    def _prepare(self) -> Make:
        field = shape.fields_by_attribute(self._cls.api_type)[self._attribute]
        default = copy.deepcopy(field.build(self._given, shape.FROM_CODE))
        if isinstance(default, list):
            return functools.partial(DefaultList, default)
        if isinstance(default, dict):
            return functools.partial(DefaultDict, cast("dict[str, Any]", default))
        return _instance_maker(cast("msgspec.Struct", default))


def _instance_maker(default: msgspec.Struct) -> Make:
    """Return what makes instances that are implicit as long as they equal a default."""
    cls = cast("ApiType", type(default)).api_type
    substitute = subclass(cls, {}, {})
    type.__setattr__(substitute, "is_implicit", True)
    type.__setattr__(substitute, "_implicit_default", default)
    names = cls.__struct_fields__

    def make() -> object:
        values = astuple(copy.deepcopy(default))
        return construct(substitute, dict(zip(names, values, strict=True)))

    return make


def _empty(cls: ApiType, attribute: str) -> object:
    """Return the empty value of a required field.

    Raises:
        AttributeError: If its type has none, such as an enumeration or a time.
    """
    if shape.allows_none(shape.annotations_of(cls.api_type)[attribute]):
        return None
    match shape.fields_by_attribute(cls.api_type)[attribute].shape:
        case shape.ListShape():
            return ImplicitList()
        case shape.MapShape():
            return ImplicitDict()
        case shape.StructShape(cls=inner):
            return _implicit_instance(inner)
        case shape.ScalarShape(exact=(first, *_)) if first in _ZEROES:
            return _ZEROES[first]
        case shape.AnyShape():
            return None
        case _:
            raise AttributeError(attribute)
