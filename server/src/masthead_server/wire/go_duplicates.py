"""Duplicate keys in JSON, which a strict Go decoder reports, and a lenient one decodes into the existing value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_STRICT_ERRORS", "Pairs", "duplicate_keys", "pairs_of"]

MAX_STRICT_ERRORS: Final = 100
"""How many errors Go's strict decoding lists."""
_MAX_REPORTED: Final = 1024 * 1024
"""The most characters of all paths that are listed."""
_MAX_INTEGER_DIGITS: Final = 19
_HTML_ESCAPES: Final = ((rb"\u003c", b"<"), (rb"\u003e", b">"), (rb"\u0026", b"&"))


class Pairs(list[tuple[str, object]]):
    """An object with all its keys, in order."""


_Steps: TypeAlias = "tuple[_Steps | None, str | int]"
"""The path to a value: its parent, and the key or index. It is formatted only if it is listed."""


def pairs_of(data: bytes, decoded: object) -> Pairs | None:
    """Decode an object with all its keys, if any key is repeated.

    Args:
        data: A document.
        decoded: The decoded document, which makes the check cheap: a document that is the same when it is
            encoded again has no duplicate keys, and clients hardly ever send others.

    Returns:
        The object, in which every object is a `Pairs`; None if it has no duplicate keys.
    """
    try:
        if _normal(data) == msgspec.json.encode(decoded):
            return None
        text = data.decode("utf-8", "replace")
        found = json.loads(text, object_pairs_hook=Pairs, parse_int=_integer)
        return found if isinstance(found, Pairs) and next(_find_repeated_keys(found), None) else None
    # Not JSON for Python, or too deep: such a body is refused elsewhere.
    except (ValueError, RecursionError):
        return None


def duplicate_keys(data: bytes, decoded: object) -> list[str]:
    """List the paths of duplicate keys, such as ``data.a`` or ``spec.containers[0].name``.

    Each path once, in the document's order, and no more of them than Go lists.

    Args:
        data: A document.
        decoded: The decoded document.
    """
    try:
        if _normal(data) == msgspec.json.encode(decoded):
            return []
        text = data.decode("utf-8", "replace")
        found: dict[str, None] = {}
        size = 0
        for steps in _find_repeated_keys(json.loads(text, object_pairs_hook=Pairs, parse_int=_integer)):
            path = _written_path(steps)
            size += len(path)
            if len(found) >= MAX_STRICT_ERRORS or size > _MAX_REPORTED:
                break
            found[path] = None
        return list(found)
    except (ValueError, RecursionError):
        return []


def _integer(text: str) -> float:
    """Read an integer as msgspec does; Python refuses to convert very long ones."""
    return int(text) if len(text) <= _MAX_INTEGER_DIGITS else float(text)


def _normal(data: bytes) -> bytes:
    """Bring a document to the form in which msgspec encodes it, except for unusual spellings.

    Go's clients escape three characters that need it in HTML only. If such a character follows a backslash, the result
    is invalid JSON, which equals no document.
    """
    normal = msgspec.json.format(data, indent=-1)
    if b"\\u00" in normal:
        for escaped, character in _HTML_ESCAPES:
            normal = normal.replace(escaped, character)
    return normal


def _find_repeated_keys(value: object, steps: _Steps | None = None) -> Iterator[_Steps]:
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, member in value:
            if key in seen:
                yield (steps, key)
            seen.add(key)
            # Objects are pairs in a list here, so that this includes them.
            if isinstance(member, list):
                yield from _find_repeated_keys(cast("object", member), (steps, key))
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            if isinstance(member, list):
                yield from _find_repeated_keys(cast("object", member), (steps, index))


def _written_path(steps: _Steps | None) -> str:
    written: list[str] = []
    while steps is not None:
        steps, step = steps
        written.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(written)).removeprefix(".")
