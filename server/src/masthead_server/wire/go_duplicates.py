"""Duplicate keys in JSON, which Go reports if it is strict, and decodes into the value that is there already."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST_STRICT_ERRORS", "Pairs", "duplicate_keys", "pairs_of"]

MOST_STRICT_ERRORS: Final = 100
"""How many errors Go's strict decoding lists."""
_MAX_REPORTED: Final = 1024 * 1024
"""The most characters of all paths that are listed."""
_LONGEST_INTEGER: Final = 19
_HTML_ESCAPES: Final = ((rb"\u003c", b"<"), (rb"\u003e", b">"), (rb"\u0026", b"&"))


class Pairs(list[tuple[str, object]]):
    """An object with all its keys, in order."""


_Steps: TypeAlias = "tuple[_Steps | None, str | int]"
"""The path to a value: its parent, and the key or index. It is formatted only if it is listed."""


def pairs_of(data: bytes, decoded: object) -> Pairs | None:
    """Decode an object with all its keys, if any is there twice.

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
        return found if isinstance(found, Pairs) and next(_repeated(found), None) else None
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
        for steps in _repeated(json.loads(text, object_pairs_hook=Pairs, parse_int=_integer)):
            path = _written_path(steps)
            size += len(path)
            if len(found) >= MOST_STRICT_ERRORS or size > _MAX_REPORTED:
                break
            found[path] = None
        return list(found)
    except (ValueError, RecursionError):
        return []


def _integer(text: str) -> float:
    """Read an integer as msgspec does; Python refuses to convert very long ones."""
    return int(text) if len(text) <= _LONGEST_INTEGER else float(text)


def _normal(data: bytes) -> bytes:
    """Bring a document to the form in which msgspec encodes it, but for unusual spellings.

    Go's clients escape three characters that need it in HTML only. One that follows a backslash becomes
    invalid JSON, which is equal to nothing.
    """
    normal = msgspec.json.format(data, indent=-1)
    if b"\\u00" in normal:
        for escaped, character in _HTML_ESCAPES:
            normal = normal.replace(escaped, character)
    return normal


def _repeated(value: object, steps: _Steps | None = None) -> Iterator[_Steps]:
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, each in value:
            if key in seen:
                yield (steps, key)
            seen.add(key)
            # Objects are pairs in a list here, so that this includes them.
            if isinstance(each, list):
                yield from _repeated(cast("object", each), (steps, key))
    elif isinstance(value, list):
        for index, each in enumerate(cast("list[object]", value)):
            if isinstance(each, list):
                yield from _repeated(cast("object", each), (steps, index))


def _written_path(steps: _Steps | None) -> str:
    written: list[str] = []
    while steps is not None:
        steps, step = steps
        written.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(written)).removeprefix(".")
