"""Regular expressions of text commands, matched in linear time: they come from clients."""

from __future__ import annotations

import re
from typing import Final

from masthead._regexp.pattern import MatchLimitError, Pattern, compile_pattern

__all__ = ["CLASSES", "MAX_PATTERN", "PatternError", "compile_expression"]

MAX_PATTERN: Final = 1000
"""Characters of a pattern or script."""
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
    escaped = re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text) if is_fixed else text
    if not is_extended and not is_fixed:
        escaped = _extend(text)
    escaped = re.sub(r"\[:([a-z]+):\]", lambda found: CLASSES.get(found[1], found[0]), escaped)
    try:
        return compile_pattern(f"(?i){escaped}" if ignores_case else escaped)
    except (ValueError, MatchLimitError) as error:
        raise PatternError(f"invalid regular expression: {error}") from error


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
