"""Path elements: the steps of a field path, as FieldsV1 writes them.

====================  ================================================================
``f:name``            a field of a struct, or an entry of a map
``k:{"name":"web"}``  the list item with these key values
``v:"a"``             the list item with this value
``i:0``               the list item at this index
====================  ================================================================

Equal elements have equal texts: keys are sorted, and numbers and strings are written in one way only.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

from masthead._meta.quoting import quoted
from masthead._schema.go_format import go_value
from masthead._schema.schema import CONTAINERS
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._schema.schema import Json

__all__ = [
    "Path",
    "element_order",
    "field_element",
    "key_element",
    "key_names",
    "path_text",
    "read_element",
    "split_element",
    "value_element",
]

Path: TypeAlias = tuple[str, ...]
"""A field path: the texts of its elements."""

_encode: Final = msgspec.json.Encoder(order="sorted").encode
_PREFIX_LENGTH: Final = 2
_RANKS: Final = {"f": 0, "k": 1, "v": 2, "i": 3}
_SHORT: Final = 256
"""Longer texts are not cached, so that the caches stay small."""
_REWRITTEN: Final = re.compile(r"[<>&\u2028\u2029]|(?<!\\)(?:\\\\)*\\[bf]")
"""Characters and escapes that kube-apiserver's encoder writes in another way than msgspec."""
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")
_SHOWN: Final = 60


def field_element(name: str) -> str:
    """Return the element of a field or of a map entry."""
    return f"f:{name}"


def key_element(keys: Mapping[str, Json]) -> str:
    """Return the element of the list item with these key values."""
    if len(keys) == 1:
        [(name, value)] = keys.items()
        if value.__class__ is str and len(value) + len(name) < _SHORT:
            return _text_key(name, value)
    written = ",".join(f"{_json(name)}:{_json(keys[name])}" for name in sorted(keys))
    return f"k:{{{written}}}"


@functools.lru_cache(maxsize=4096)
def _text_key(name: str, value: str) -> str:
    return f"k:{{{_json(name)}:{_json(value)}}}"


def split_element(text: str) -> tuple[str, str]:
    """Return the kind of an element, its letter, and the rest, such as the name of a field."""
    return text[0], text[_PREFIX_LENGTH:]


def key_names(text: str) -> tuple[str, ...]:
    """Return the names of the keys that identify a list item; empty for any other element."""
    kind, rest = split_element(text)
    return tuple(cast("dict[str, Json]", msgspec.json.decode(rest))) if kind == "k" else ()


def value_element(value: Json) -> str:
    """Return the element of the list item with this value."""
    return f"v:{_json(value)}"


def _json(value: Json) -> str:
    if value.__class__ in CONTAINERS:
        value = _with_integers(value)
    elif value.__class__ is float and value.is_integer():
        value = int(value)
    text = _encode(value).decode()
    return _REWRITTEN.sub(_escape, text) if value.__class__ is not int else text


def _with_integers(value: Json) -> Json:
    """Return JSON with whole floats converted to integers."""
    if isinstance(value, dict):
        return {name: _with_integers(inner) for name, inner in cast("dict[str, Json]", value).items()}
    if value.__class__ is list:
        return [_with_integers(item) for item in value]
    return int(value) if value.__class__ is float and value.is_integer() else value


def _escape(found: re.Match[str]) -> str:
    text = found[0]
    return f"{text[:-2]}\\u{'0008' if text[-1] == 'b' else '000c'}" if "\\" in text else f"\\u{ord(text):04x}"


def read_element(text: str) -> str | None:
    """Check an element that a client sent.

    Returns:
        The element in canonical form; None if it is of an unknown type, which is ignored.

    Raises:
        DecodeError: If it is invalid.
    """
    if text.startswith("f:"):
        return text
    return _read_short(text) if len(text) < _SHORT else _read(text)


def _read(text: str) -> str | None:
    if len(text) < _PREFIX_LENGTH or text[1] != ":":
        raise invalid_element(text)
    rest = text[_PREFIX_LENGTH:]
    if text[0] == "k":
        keys = _decode(text, rest)
        if not isinstance(keys, dict):
            raise invalid_element(text)
        return key_element(cast("dict[str, Json]", keys))
    if text[0] == "v":
        return value_element(_decode(text, rest))
    if text[0] == "i":
        if not _INDEX.fullmatch(rest):
            raise invalid_element(text)
        return f"i:{int(rest)}"
    return None


_read_short: Final = functools.lru_cache(maxsize=4096)(_read)


def _decode(text: str, rest: str) -> Json:
    try:
        return msgspec.json.decode(rest)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise invalid_element(text) from None


def invalid_element(text: str) -> DecodeError:
    """Return the error about a text that is not an element."""
    # The element may hold a value, but never one of a Secret: its entries are owned by name.
    return DecodeError(f"{text[:_SHOWN]!r} is not an element of a field set", path="metadata.managedFields")


def element_order(text: str) -> tuple[object, ...]:
    """Return the key that sorts elements as kube-apiserver does."""
    return _order_of_short(text) if len(text) < _SHORT else _order(text)


def _order(text: str) -> tuple[object, ...]:
    rank, rest = _RANKS[text[0]], text[_PREFIX_LENGTH:]
    if rank == _RANKS["k"]:
        keys = cast("dict[str, Json]", msgspec.json.decode(rest))
        return (rank, *((name, _value_order(keys[name])) for name in sorted(keys)))
    if rank == _RANKS["v"]:
        return (rank, _value_order(msgspec.json.decode(rest)))
    return (rank, int(rest) if rank == _RANKS["i"] else rest)


_order_of_short: Final = functools.lru_cache(maxsize=4096)(_order)


def _value_order(value: Json) -> tuple[object, ...]:
    """Numbers sort before strings, and strings before booleans; the order of other values does not matter."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, "" if value is None else _encode(value).decode())


def path_text(path: Path) -> str:
    """Write a path as messages show it: ``.spec.containers[name="web"].image``."""
    return "".join(map(_element_text, path))


def _element_text(text: str) -> str:
    kind, rest = split_element(text)
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        keys = cast("dict[str, Json]", msgspec.json.decode(rest))
        return f"[{','.join(f'{name}={_value_text(value)}' for name, value in sorted(keys.items()))}]"
    return f"[={_value_text(msgspec.json.decode(rest))}]" if kind == "v" else f"[{rest}]"


def _value_text(value: Json) -> str:
    match value:
        case None:
            return "null"
        case str():
            return quoted(value)
        case list():
            return f"[{','.join(_value_text(item) for item in cast('Iterable[Json]', value))}]"
        case dict():
            fields = sorted(cast("dict[str, Json]", value).items())
            return "".join(f"{name}={_value_text(field)}" for name, field in fields)
        case _:
            return go_value(value)
