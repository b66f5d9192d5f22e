"""Values from plain data, and the decoder's errors in pydantic's form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import PydanticCustomError, ValidationError

from masthead._errors.base import printable
from masthead._meta import shape
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object, ObjectList
from masthead._meta.quantity import Quantity, parse_quantity
from masthead._meta.registry import registry
from masthead._meta.time import MicroTime, parse_micro_time
from masthead._meta.unstructured import Unstructured, UnstructuredList
from masthead.errors import ArgumentError, DecodeError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import InitErrorDetails

    from masthead._meta.apitype import ApiType
    from masthead._meta.model import Struct

__all__ = ["build_list", "build_micro_time", "build_quantity", "build_struct"]

_STEP: Final = re.compile(r'\["(.*?)"\]|\[(\d+)\]|([^.\[]+)')
"""A step of an error's path: a key, an index, or a field."""
_HIDDEN: Final = "<hidden>"


def build_struct(cls: type[Struct], value: object) -> object:
    """Return an instance unchanged; build one from a mapping with wire names.

    Raises:
        ValidationError: If the data does not match the type.
    """
    if isinstance(value, cls):
        return value
    try:
        return _class_for(cls, value).from_dict(cast("Mapping[str, object]", value))
    except ArgumentError as error:
        raise _validation_error(cls, error, value) from None


def build_list(item: type[Object], value: object) -> object:
    """Return a list of objects of a class unchanged; build one from a mapping with wire names.

    Raises:
        ValidationError: If the data is not such a list.
        PydanticCustomError: If the kind has no list.
    """
    if _is_list_of(item, value):
        return value
    try:
        return build_struct(_list_class(item), value)
    except UnknownKindError as error:
        raise _custom_error("decode_error", str(error)) from None


def build_quantity(value: object) -> Quantity:
    """Return the quantity of text or of a number.

    Raises:
        PydanticCustomError: If it is not a quantity.
    """
    try:
        return parse_quantity(value)
    except ArgumentError as error:
        raise _custom_error("quantity", str(error)) from None


def build_micro_time(value: object) -> MicroTime:
    """Return the point in time of RFC 3339 text, or of an aware ``datetime``.

    Raises:
        PydanticCustomError: If it is neither.
    """
    try:
        if isinstance(value, datetime):
            return value if isinstance(value, MicroTime) else MicroTime.of(value)
        if isinstance(value, str):
            return parse_micro_time(value)
    except ArgumentError as error:
        raise _custom_error("micro_time", str(error)) from None
    raise _custom_error("micro_time", f"expected an RFC 3339 time, got {shape.describe(value)}")


def _class_for(cls: type[Struct], value: object) -> type[Struct]:
    """Return the class to build: for `Object`, that of the kind in the data, or `Unstructured`.

    Raises:
        ArgumentError: If the ``apiVersion`` is invalid.
    """
    if cls is not Object or not isinstance(value, Mapping):
        return cls
    data = cast("Mapping[str, object]", value)
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return Unstructured
    try:
        return registry.object_class(GroupVersionKind.of(api_version, kind))
    except UnknownKindError:
        return Unstructured


def _is_list_of(item: type[Object], value: object) -> bool:
    return isinstance(value, ObjectList) and issubclass(value.ITEM, item)


def _list_class(item: type[Object]) -> type[ObjectList[Any]]:
    return registry.list_class(item.GVK) if item.GVK.kind else UnstructuredList


def _custom_error(kind: str, problem: str) -> PydanticCustomError:
    # Without a context, pydantic does not format the text, which may have braces. The cast: it wants a literal.
    return PydanticCustomError(cast("Any", kind), cast("Any", printable(problem)))


def _validation_error(cls: type[Struct], error: ArgumentError, value: object) -> ValidationError:
    """Return the error at the place of the invalid field; pydantic adds the place of the whole value."""
    problem, path = (error.problem, error.path) if isinstance(error, DecodeError) else (str(error), "")
    steps = tuple(_steps_of(path))
    details: InitErrorDetails = {
        "type": _custom_error("decode_error", problem),
        "loc": steps,
        "input": _input_at(cls, value, steps),
    }
    return ValidationError.from_exception_data(cls.__name__, [details])


def _steps_of(path: str) -> Iterator[str | int]:
    for match in _STEP.finditer(path):
        key, index, name = match.groups()
        yield int(index) if index else name or key


def _input_at(cls: type[Struct], value: object, steps: tuple[str | int, ...]) -> object:
    """Return the invalid value, which pydantic repeats in its messages; a value that may be a secret is hidden."""
    current: shape.Shape = shape.StructShape(cast("ApiType", cls))
    for step in steps:
        if isinstance(current, shape.StructShape) and (field := shape.fields_of(current.cls).get(str(step))):
            if field.is_secret:
                return _HIDDEN
            current = field.shape
        else:
            current = _inner(current)
        try:
            value = cast("Any", value)[step]
        except (KeyError, IndexError, TypeError):
            return None
    # A field inside of a container may be a secret; the type of the container is all that the message is about.
    return value if not isinstance(value, Mapping | list) else shape.describe_type(cast("object", value))


def _inner(outer: shape.Shape) -> shape.Shape:
    match outer:
        case shape.ListShape(item=inner) | shape.MapShape(value=inner) | shape.NullableShape(shape=inner):
            return inner
        case _:
            return shape.AnyShape()
