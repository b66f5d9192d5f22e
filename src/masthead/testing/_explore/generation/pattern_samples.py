"""Strings that match a regular expression."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from masthead._regexp.pattern import MatchLimitError, compile_pattern
from masthead._regexp.program import Op
from masthead._regexp.syntax import PatternError, parse

if TYPE_CHECKING:
    from random import Random

    from masthead._regexp.charsets import CharSet
    from masthead._regexp.program import Instruction

__all__ = ["sample_pattern"]

_ALPHABET: Final = "ab0c1d2e3-._/:@ =,Z"
"""The preferred characters: valid in most names."""
_PRINTABLE: Final = "".join(map(chr, range(32, 127)))
_LETTERS: Final = "".join(map(chr, range(0xC0, 0x600)))
"""Letters of European and Semitic scripts."""
_MAX_STEPS: Final = 2_000
"""Instructions of one walk through a program."""
_MAX_WALKS: Final = 60


def sample_pattern(
    pattern: str, rng: Random, count: int = 3, *, min_length: int = 0, max_length: int = 200
) -> list[str]:
    """Return different strings that match a pattern in RE2's syntax, as many as random walks find.

    Args:
        pattern: The pattern. It may match a part of a string only.
        rng: The source of randomness.
        count: The maximum number of strings.
        min_length: The minimum length of a string.
        max_length: The maximum length of a string.
    """
    try:
        program = parse(pattern)
        compiled = compile_pattern(pattern)
    except PatternError:
        # The server refuses definitions with such a pattern.
        return []
    found: dict[str, None] = {}
    for walk in range(_MAX_WALKS):
        # At first short strings, then ever longer ones, until one has the minimum length.
        text = _walk(program, rng, wanted=min_length + walk // 4)
        if text is None or not min_length <= len(text) <= max_length or text in found:
            continue
        try:
            # A walk takes assertions for granted.
            if compiled.search(text):
                found[text] = None
        except MatchLimitError:
            # A pattern this costly stays costly for the other walks.
            return list(found)
        if len(found) >= count:
            break
    return list(found)


def _walk(program: list[Instruction], rng: Random, wanted: int) -> str | None:
    """Return the characters on a random way through a program, preferably as many as wanted; None without an end."""
    position, text = 0, ""
    for _ in range(_MAX_STEPS):
        instruction = program[position]
        match instruction.op:
            case Op.MATCH:
                return text
            case Op.CHAR:
                character = _choose(instruction.chars, rng)
                if character is None:
                    return None
                text += character
                position += 1
            case Op.JUMP:
                position += instruction.first
            case Op.SPLIT:
                position += _branch(instruction, rng, is_long_enough=len(text) >= wanted)
            case _:
                # Assertions consume no character.
                position += 1
    return None


def _branch(instruction: Instruction, rng: Random, *, is_long_enough: bool) -> int:
    # The way out of a loop or option is the farther one; mostly, so that alternatives are tried as well.
    near, far = sorted((instruction.first, instruction.second))
    prefers_far = rng.random() < (0.75 if is_long_enough else 0.35)
    return far if prefers_far else near


def _choose(chars: CharSet | None, rng: Random) -> str | None:
    usable = "" if chars is None else _find_usable(chars)
    return rng.choice(usable) if usable else None


# A pattern uses the same few sets in every walk.
@lru_cache(256)
def _find_usable(chars: CharSet) -> str:
    """Return characters of a set, preferably common ones."""
    for alphabet in (_ALPHABET, _PRINTABLE, _LETTERS):
        if usable := "".join(character for character in alphabet if character in chars):
            return usable
    # A negated set has no first member to offer.
    return chars.ranges[0][0] if chars.ranges and not chars.is_negated else ""
