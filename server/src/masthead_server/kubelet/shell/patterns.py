"""Regular expressions of text commands, matched in linear time: they come from clients."""

from __future__ import annotations

import errno
import fnmatch
import os
import re
from typing import Final

from masthead._regexp.pattern import MatchLimitError, Pattern, compile_pattern

__all__ = ["CLASSES", "MAX_PATTERN", "PatternError", "compile_expression", "escape_pattern", "matches_pattern"]

MAX_PATTERN: Final = 1000
"""Characters of a pattern or script."""
_MAX_STARS: Final = 3
CLASSES: Final = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": " \t\n\r\f\v",
    "blank": " \t",
    "punct": "!\"#$%&'()*+,./:;<=>?@[\\]^_`{|}~-",
}


class PatternError(ValueError):
    """A pattern is invalid, or too long."""


def compile_expression(text: str, *, is_extended: bool, is_fixed: bool = False, ignores_case: bool = False) -> Pattern:
    """Compile a basic or extended expression, or a text that means itself.

    Raises:
        PatternError: If it is invalid or too long.
    """
    if len(text) > MAX_PATTERN:
        raise PatternError("pattern too long")
    # Lines are alternatives, as with "grep -e a -e b".
    lines = [_as_extended(line, is_extended=is_extended, is_fixed=is_fixed) for line in text.split("\n")]
    escaped = lines[0] if len(lines) == 1 else "|".join(f"(?:{line})" for line in lines)
    escaped = re.sub(r"\[:([a-z]+):\]", lambda found: CLASSES.get(found[1], found[0]), escaped)
    try:
        return compile_pattern(f"(?i){escaped}" if ignores_case else escaped)
    except (ValueError, MatchLimitError) as error:
        raise PatternError(f"invalid regular expression: {error}") from error


def _as_extended(text: str, *, is_extended: bool, is_fixed: bool) -> str:
    if is_fixed:
        return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)
    return text if is_extended else _extend(text)


def _extend(text: str) -> str:
    """Write a basic expression as an extended one: backslashes give signs their meaning, instead of taking it."""
    found: list[str] = []
    index, is_set = 0, False
    while index < len(text):
        character = text[index]
        if is_set:
            is_set = character != "]"
            found.append(character)
        elif character == "\\" and index + 1 < len(text):
            index += 1
            found.append(text[index] if text[index] in "(){}|+?" else f"\\{text[index]}")
        else:
            is_set = character == "["
            found.append(f"\\{character}" if character in "(){}|+?" else character)
        index += 1
    return "".join(found)


def escape_pattern(text: str) -> str:
    """Return a pattern of the shell that matches a text only."""
    return re.sub(r"([*?\[])", r"[\1]", text)


def matches_pattern(text: str, pattern: str) -> bool:
    """Tell whether a text matches a pattern of the shell: ``*``, ``?`` and ``[…]``.

    Raises:
        OSError: If the pattern is too long, or has so many stars that the match would take long.
    """
    if len(pattern) > MAX_PATTERN or pattern.replace("[*]", "").count("*") > _MAX_STARS:
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    named = re.sub(r"\[:([a-z]+):\]", lambda found: CLASSES.get(found[1], found[0]), pattern)
    return fnmatch.fnmatchcase(text, named.replace("[^", "[!"))
