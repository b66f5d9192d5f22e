"""JSON objects one after the other, as ``jq -c '.items[]'`` prints them: made a stream of YAML documents."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["separate_json"]

_SPACE: Final = re.compile(r"\ufeff?[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


def separate_json(text: str | bytes) -> str | bytes:
    """Put ``---`` between consecutive JSON objects at the beginning of a text; leave other text unchanged.

    Objects that begin a line keep the numbers of their lines.

    Args:
        text: The text; bytes are UTF-8, or are not looked at.
    """
    if isinstance(text, bytes):
        try:
            decoded = text.decode("utf-8")
        # The YAML parser recognises UTF-16, and reports everything else.
        except UnicodeDecodeError:
            return text
    else:
        decoded = text
    starts = list(_starts(decoded))
    if not starts:
        return text
    parts: list[str] = []
    begin = 0
    for start in starts:
        line = decoded.rfind("\n", 0, start) + 1
        # At the start of a line, the separator can take the place of the indentation.
        is_alone = line >= begin and not decoded[line:start].strip()
        end = line if is_alone else start
        parts += [decoded[begin:end], "--- " if is_alone else "\n--- "]
        begin = end
    return "".join([*parts, decoded[begin:]])


def _starts(text: str) -> Iterator[int]:
    """Find the start of each further object, in linear time. The decoder reports broken text."""
    at = _end_of_space(text, 0)
    while text.startswith("{", at):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        at = _end_of_space(text, end)
        if text.startswith("{", at):
            yield at


def _end_of_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at
