"""The functions of Go templates, with the additions of kubectl. Pure."""

from __future__ import annotations

import base64
import binascii
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import quote_plus

from masthead._cli.go_format import GoByte, GoInt, format_value, sprint, type_name
from masthead._cli.go_printf import sprintf
from masthead._cli.go_template_tokens import GoTemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FUNCTIONS", "MISSING", "SHORT_CIRCUIT", "Missing", "is_true"]


class Missing:
    """The type of `MISSING`."""


MISSING: Final = Missing()
"""What a field has that does not exist. Go prints it as ``<no value>``, and null inside of data as ``<nil>``."""

Count: TypeAlias = "Callable[[int], None]"
"""Counts characters before they are made."""

SHORT_CIRCUIT: Final = frozenset({"and", "or"})
"""Functions whose later arguments may stay without a value."""
_HTML: Final = {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
_JS: Final = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}
_MAX_SLICE: Final = 3


def is_true(value: object) -> bool:
    """Whether a condition holds: not for 0, null, false and empty values."""
    return value is not MISSING and bool(value)


def _plain(value: object) -> object:
    return None if value is MISSING else value


def _not(_: Count, value: object) -> object:
    return not is_true(value)


def _kind(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "string"
        case _:
            return ""


def _eq(_: Count, first: object, *others: object) -> object:
    first = _plain(first)
    if not others:
        raise GoTemplateError("missing argument for comparison")
    return any(_is_equal(first, _plain(other)) for other in others)


def _is_equal(first: object, other: object) -> bool:
    # Go compares numbers of one type only: 1 and 1.0 are different types.
    if _kind(first) != _kind(other):
        # Nothing equals null but null.
        if first is None or other is None:
            return False
        raise GoTemplateError("incompatible types for comparison")
    if _kind(first):
        return first == other
    if first is None or other is None:
        return first is other
    raise GoTemplateError("maps and lists cannot be compared")


def _ne(count: Count, first: object, other: object) -> object:
    return not _eq(count, first, other)


def _is_less(first: object, other: object) -> bool:
    first, other = _plain(first), _plain(other)
    kind = _kind(first)
    if not kind or not _kind(other):
        raise GoTemplateError("invalid type for comparison")
    if kind != _kind(other):
        raise GoTemplateError("incompatible types for comparison")
    match first, other:
        case bool(), _:
            raise GoTemplateError("invalid type for comparison")
        case str(), str():
            return first < other
        case _:
            return cast("float", first) < cast("float", other)


def _lt(_: Count, first: object, other: object) -> object:
    return _is_less(first, other)


def _le(_: Count, first: object, other: object) -> object:
    return _is_less(first, other) or _is_equal(_plain(first), _plain(other))


def _gt(count: Count, first: object, other: object) -> object:
    return not _le(count, first, other)


def _ge(_: Count, first: object, other: object) -> object:
    return not _is_less(first, other)


def _len(_: Count, value: object) -> object:
    match value:
        case str():
            return GoInt(len(value.encode("utf-8", "replace")))
        case list() | dict():
            return GoInt(len(cast("list[object]", value)))
        case _:
            raise GoTemplateError(f"len of type {type_name(_plain(value))}")


def _position(value: object, length: int) -> int:
    """An index that is one.

    Raises:
        GoTemplateError: If it is no number, or out of range.
    """
    value = _plain(value)
    if value is None:
        raise GoTemplateError("cannot index slice/array with nil")
    if not isinstance(value, int) or isinstance(value, bool):
        raise GoTemplateError(f"cannot index slice/array with type {type_name(value)}")
    if not 0 <= value <= length:
        raise GoTemplateError(f"index out of range: {value}")
    return int(value)


def _index(_: Count, item: object, *indices: object) -> object:
    if _plain(item) is None:
        raise GoTemplateError("index of untyped nil")
    for index in indices:
        item = _element(item, index)
    return item


def _element(item: object, index: object) -> object:
    match item:
        case str() | list():
            elements = item.encode("utf-8", "replace") if isinstance(item, str) else cast("list[object]", item)
            at = _position(index, len(elements))
            # An end of a slice may be the length, an index may not.
            if at == len(elements):
                raise GoTemplateError(f"index out of range: {at}")
            element = elements[at]
            return GoByte(cast("int", element)) if isinstance(item, str) else element
        case dict():
            if not isinstance(index, str):
                raise GoTemplateError(f"value has type {type_name(_plain(index))}; should be string")
            # A missing key has the zero value of the elements: null.
            return cast("dict[str, object]", item).get(index)
        case _ if _plain(item) is None:
            raise GoTemplateError("index of nil pointer")
        case _:
            raise GoTemplateError(f"can't index item of type {type_name(item)}")


def _slice(count: Count, item: object, *indices: object) -> object:
    if len(indices) > _MAX_SLICE:
        raise GoTemplateError(f"too many slice indexes: {len(indices)}")
    match item:
        case str():
            if len(indices) == _MAX_SLICE:
                raise GoTemplateError("cannot slice string with 3 indexes")
            data = item.encode("utf-8", "replace")
            start, end = _bounds(indices, len(data))
            return data[start:end].decode("utf-8", "replace")
        case list():
            elements = cast("list[object]", item)
            # Slices are copies here.
            count(len(elements))
            start, end = _bounds(indices, len(elements))
            return elements[start:end]
        case _ if _plain(item) is None:
            raise GoTemplateError("slice of untyped nil")
        case _:
            raise GoTemplateError(f"can't slice item of type {type_name(item)}")


def _bounds(indices: Sequence[object], length: int) -> tuple[int, int]:
    # A third one is the capacity, which lists of JSON do not have.
    positions = [_position(index, length) for index in indices]
    for before, after in pairwise(positions):
        if before > after:
            raise GoTemplateError(f"invalid slice index: {before} > {after}")
    start = positions[0] if positions else 0
    return start, positions[1] if len(positions) > 1 else length


def _counted(count: Count, values: Sequence[object]) -> list[object]:
    """Values whose texts are counted before they are joined."""
    plain = [_plain(value) for value in values]
    for value in plain:
        count(len(value) if isinstance(value, str) else len(format_value(value)))
    return plain


def _print(count: Count, *values: object) -> object:
    return sprint(_counted(count, values))


def _println(count: Count, *values: object) -> object:
    return sprint(_counted(count, values), is_line=True)


def _printf(count: Count, form: object, *values: object) -> object:
    return sprintf(_text_argument(form), [_plain(value) for value in values], count)


def _text_argument(value: object) -> str:
    if isinstance(value, str):
        return value
    if _plain(value) is None:
        raise GoTemplateError("invalid value; expected string")
    raise GoTemplateError(f"wrong type for value; expected string; got {type_name(value)}")


def _text_of(count: Count, values: Sequence[object]) -> str:
    """What escaping functions escape: all arguments, as print joins them."""
    shown = ["<no value>" if value is None else value for value in _counted(count, values)]
    return sprint(shown)


def _html(count: Count, *values: object) -> object:
    return "".join(_HTML.get(character, character) for character in _text_of(count, values))


def _js(count: Count, *values: object) -> object:
    return "".join(map(_js_character, _text_of(count, values)))


def _js_character(character: str) -> str:
    if character in _JS:
        return _JS[character]
    is_control = character < " "
    return (
        f"\\u{ord(character):04X}" if is_control or not (character.isascii() or character.isprintable()) else character
    )


def _urlquery(count: Count, *values: object) -> object:
    return quote_plus(_text_of(count, values), safe="", errors="replace")


def _base64decode(_: Count, value: object) -> object:
    # Line feeds are skipped, as in Go; other characters are not.
    text = _text_argument(value).replace("\r", "").replace("\n", "")
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise GoTemplateError("base64 decode failed") from None
    return data.decode("utf-8", "replace")


def _exists(_: Count, item: object, *indices: object) -> object:
    for index in indices:
        is_number = isinstance(index, int) and not isinstance(index, bool)
        if not isinstance(item, str | list | dict) or (not is_number and not isinstance(item, dict)):
            return False
        try:
            item = _element(cast("object", item), "" if isinstance(item, dict) and _plain(index) is None else index)
        except GoTemplateError:
            return False
    # As in kubectl: without an index, null exists.
    return _plain(item) is not None or not indices


FUNCTIONS: Final[dict[str, tuple[Callable[..., object], int, int | None]]] = {
    "and": (_not, 1, None),
    "or": (_not, 1, None),
    "not": (_not, 1, 1),
    "eq": (_eq, 1, None),
    "ne": (_ne, 2, 2),
    "lt": (_lt, 2, 2),
    "le": (_le, 2, 2),
    "gt": (_gt, 2, 2),
    "ge": (_ge, 2, 2),
    "len": (_len, 1, 1),
    "index": (_index, 1, None),
    "slice": (_slice, 1, None),
    "print": (_print, 0, None),
    "println": (_println, 0, None),
    "printf": (_printf, 1, None),
    "html": (_html, 0, None),
    "js": (_js, 0, None),
    "urlquery": (_urlquery, 0, None),
    "base64decode": (_base64decode, 1, 1),
    "exists": (_exists, 1, None),
}
"""Each function, and the least and the greatest number of its arguments; None for any.

The executor itself evaluates ``and`` and ``or``."""
