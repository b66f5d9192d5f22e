"""Walking objects: what is set, what is to be written, and whether two are the same.

Nothing here changes an object, because another thread may be reading it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from masthead.errors import DecodeError, InvalidValueError
from masthead.meta import wire
from masthead.meta.apitype import ApiType
from masthead.meta.slots import ImplicitDict, ImplicitList, members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import MemberDescriptorType

S = TypeVar("S", bound=msgspec.Struct)

_LEAVES: Final = frozenset({str, int, float, bool, bytes, type(None), UnsetType, Raw})


def is_struct(value: object) -> TypeGuard[msgspec.Struct]:
    """Whether a value is of a type of the API."""
    return isinstance(type(value), ApiType)


def api_type(instance: msgspec.Struct) -> ApiType:
    """The class of an instance as its author wrote it."""
    return cast("ApiType", type(instance)).api_type


def values(instance: msgspec.Struct) -> list[object]:
    """What every slot holds, as it holds it."""
    return [member.__get__(instance) for _, member, _ in members(type(instance))]


def set_fields(instance: msgspec.Struct) -> Iterator[tuple[str, object]]:
    """Yield the name and value of every field that is set, decoding what is still bytes.

    Where that fails, the value is the error. Unknown fields come last, under their names on the wire.
    """
    for name, member, default in members(cast("type[msgspec.Struct]", api_type(instance))):
        value = member.__get__(instance)
        if value is default or value is None or is_blank(value):
            continue
        yield name, _read(instance, name) if type(value) is Raw else value
    yield from sorted(unknown_fields(instance).items())


def _read(instance: msgspec.Struct, name: str) -> object:
    try:
        return getattr(instance, name)
    except DecodeError as error:
        return error


def show(value: object) -> str:
    """A value for a repr; bytes are left out, because they are mostly keys and passwords."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, DecodeError):
        return f"<undecodable: {value.path}: {value.problem}>"
    if isinstance(value, list):
        return f"[{', '.join(map(show, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return "{" + ", ".join(f"{key!r}: {show(item)}" for key, item in items) + "}"
    return repr(value)


def is_blank(value: object) -> bool:
    """Whether reading alone brought this to life, and nothing has been put into it since."""
    if isinstance(value, ImplicitList | ImplicitDict):
        return not value
    if not is_struct(value) or not cast("ApiType", type(value)).is_implicit:
        return False
    return all(
        held is default or held is None or is_blank(held)
        for held, (_, _, default) in zip(values(value), members(type(value)), strict=True)
    )


def shallow_copy(instance: S) -> S:
    """A new instance with the same values in its slots."""
    return cast("S", cast("Any", msgspec.Struct).__copy__(instance))


def to_encode(value: object) -> object:
    """What is to be encoded: `value`, or a copy without what nobody set.

    Raises:
        InvalidValueError: if it contains itself, or nests absurdly.
    """
    try:
        return _written(value)
    except RecursionError:
        raise InvalidValueError("cannot be written as JSON: nested too deeply") from None


def _written(value: object) -> object:
    if is_struct(value):
        return _written_struct(value)
    if isinstance(value, list):
        old = cast("list[object]", value)
        new = [_written(item) for item in old]
        return old if all(map(operator.is_, new, old)) else new
    if isinstance(value, dict):
        mapping = cast("dict[str, object]", value)
        changed = {key: done for key, item in mapping.items() if (done := _written(item)) is not item}
        return {**mapping, **changed} if changed else mapping
    return value


def _written_struct(instance: msgspec.Struct) -> object:
    if whole := getattr(type(instance), "to_write", None):
        return whole(instance, typed=False)
    changes: list[tuple[MemberDescriptorType, object]] = []
    for _, member, _ in members(type(instance)):
        value = member.__get__(instance)
        if type(value) in _LEAVES:
            continue
        new = UNSET if is_blank(value) else _written(value)
        if new is not value:
            changes.append((member, new))
    if not changes:
        return instance
    result = shallow_copy(instance)
    for member, new in changes:
        member.__set__(result, new)
    return result


def unknown_fields(instance: msgspec.Struct) -> dict[str, object]:
    """The fields of an object that its type does not know, by their names on the wire."""
    known = len(api_type(instance).__struct_fields__)
    names = type(instance).__struct_encode_fields__[known:]
    found = zip(names, values(instance)[known:], strict=True)
    return {name: value for name, value in found if value is not UNSET}


def read_everything(value: object) -> None:
    """Decode whatever in a value still waits to be read."""
    if is_struct(value):
        for name, member, _ in members(type(value)):
            held = member.__get__(value)
            if type(held) is Raw:
                getattr(value, name)
            elif type(held) not in _LEAVES:
                read_everything(held)
    elif isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            read_everything(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            read_everything(item)


def same(one: object, other: object) -> bool:
    """Whether two values read the same; what nests too deeply to be walked is the same as itself only."""
    try:
        return one is other or write_the_same(one, other) or _same(one, other)
    except RecursionError:
        return False


def write_the_same(one: object, other: object) -> bool:
    """Whether two values are equal as text, which is ten times faster to find out than by walking them.

    Unequal text may yet mean equal values: an unset list equals an empty one, and a map has no order.
    """
    comparable = is_struct(one) and is_struct(other) and api_type(one) is api_type(other)
    if not comparable and type(one) is not type(other):
        return False
    try:
        return wire.encode(one) == wire.encode(other)
    except InvalidValueError:
        return False


def _same(one: object, other: object) -> bool:
    if one is other:
        return True
    if is_struct(one):
        return is_struct(other) and _same_structs(one, other)
    if isinstance(one, list) and isinstance(other, list):
        ones, others = cast("list[object]", one), cast("list[object]", other)
        return len(ones) == len(others) and all(map(_same, ones, others))
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return _equal_scalars(one, other)  # pyright: ignore[reportUnknownArgumentType] - of a list, but not both


def _equal_scalars(one: object, other: object) -> bool:
    # To Python 1 equals True and 1.0; on the wire they are three things.
    return bool(one == other) and _number_type(one) is _number_type(other)


def _number_type(value: object) -> object:
    return next((kind for kind in (bool, int, float) if isinstance(value, kind)), None)


def _same_structs(one: msgspec.Struct, other: msgspec.Struct) -> bool:
    cls = api_type(one)
    if cls is not api_type(other):
        return False
    for name, member, _ in members(cast("type[msgspec.Struct]", cls)):
        left, right = member.__get__(one), member.__get__(other)
        if left is right or (type(left) is Raw and type(right) is Raw and bytes(left) == bytes(right)):
            continue
        compare = same if Raw in {type(left), type(right)} else _same
        if not compare(getattr(one, name), getattr(other, name)):
            return False
    return _same(unknown_fields(one), unknown_fields(other))
