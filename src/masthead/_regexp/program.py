"""Programs: what a pattern is compiled to.

A piece of a program has relative jumps only, so that pieces can be joined and copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, auto
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._regexp.charsets import CharSet

__all__ = ["Code", "Instruction", "Op", "Piece", "joined", "one_of", "repeated"]


class Op(IntEnum):
    """What an instruction does."""

    CHAR = auto()
    """Read a character of a set."""
    SPLIT = auto()
    """Continue at both targets; the first is preferred."""
    JUMP = auto()
    BEGIN_TEXT = auto()
    END_TEXT = auto()
    BEGIN_LINE = auto()
    END_LINE = auto()
    WORD_BOUNDARY = auto()
    NO_WORD_BOUNDARY = auto()
    MATCH = auto()


class Instruction(NamedTuple):
    """An instruction: `first` and `second` are the relative targets of a jump or split."""

    op: Op
    chars: CharSet | None = None
    first: int = 1
    second: int = 0


Code: TypeAlias = "list[Instruction]"


@dataclass(slots=True)
class Piece:
    """A part of a program.

    Attributes:
        code: The instructions.
        copies: How often the innermost thing is repeated.
        height: How deeply it nests.
        is_literal: Whether it is one character, which adds no nesting in a sequence.
    """

    code: Code
    copies: int = 1
    height: int = 1
    is_literal: bool = False


def joined(pieces: Sequence[Piece]) -> Piece:
    """Join pieces that follow each other."""
    if len(pieces) == 1:
        return pieces[0]
    code = [instruction for piece in pieces for instruction in piece.code]
    nests = any(not piece.is_literal for piece in pieces)
    height = max((piece.height for piece in pieces), default=0) + nests
    return Piece(code, max((piece.copies for piece in pieces), default=1), height or 1)


def one_of(branches: Sequence[Piece]) -> Piece:
    """Join pieces that are alternatives; the first is preferred."""
    if len(branches) == 1:
        return branches[0]
    length = sum(len(branch.code) + 2 for branch in branches[:-1]) + len(branches[-1].code)
    code: Code = []
    for branch in branches[:-1]:
        code.append(Instruction(Op.SPLIT, None, 1, len(branch.code) + 2))
        code.extend(branch.code)
        code.append(Instruction(Op.JUMP, None, length - len(code)))
    code.extend(branches[-1].code)
    return Piece(code, max(branch.copies for branch in branches), 1 + max(branch.height for branch in branches))


def repeated(body: Code, least: int, most: int, *, prefers_few: bool) -> Code:
    """Repeat a piece: the required copies, then a loop, or the optional copies, each with a way out."""
    size = len(body)
    code = body * least
    if most < 0:
        # The last copy is the body of the loop. A loop that may be skipped is skipped once, at its beginning: this
        # decides which match is preferred if the body can be empty.
        loop = [*(code or body), _split(-size, 1, prefers_few=prefers_few)]
        return loop if least else [_split(1, size + 2, prefers_few=prefers_few), *loop]
    optional = most - least
    for index in range(optional):
        code.append(_split(1, (optional - index) * (size + 1), prefers_few=prefers_few))
        code.extend(body)
    return code


def _split(go_on: int, leave: int, *, prefers_few: bool) -> Instruction:
    return Instruction(Op.SPLIT, None, *((leave, go_on) if prefers_few else (go_on, leave)))
