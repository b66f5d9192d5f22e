"""The parser of patterns: RE2's syntax, with the limits and error messages of Go's ``regexp/syntax``.

A pattern is compiled directly to a program, without a tree in between, so that nothing recurses however deeply a
pattern nests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from masthead._regexp.charsets import NAMED_CLASSES, PERL_CLASSES, CharSet, unicode_class
from masthead._regexp.program import Code, Instruction, Op, Piece, joined, one_of, repeated

__all__ = ["PatternError", "parse"]

_MAX_REPEAT: Final = 1000
"""The most copies of one thing, nested repetitions multiplied."""
_MAX_HEIGHT: Final = 1000
_MAX_INSTRUCTIONS: Final = 10_000
"""Differs from Go, which allows 3.3 million: matching takes time in proportion."""
_MAX_RUNE: Final = 0x10FFFF


class PatternError(ValueError):
    """A pattern is invalid, or too large."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {problem}: `{part}`")


@dataclass(slots=True)
class _Flags:
    folds_case: bool = False
    is_multi_line: bool = False
    dot_matches_newline: bool = False
    prefers_few: bool = False


@dataclass(slots=True)
class _Group:
    """A group that is not closed yet.

    Attributes:
        flags: The flags to return to behind it.
        captures: Whether it adds to the height.
        branches: The alternatives before the current one.
        pieces: The pieces of the current alternative.
    """

    flags: _Flags
    captures: bool = False
    branches: list[Piece] = field(default_factory=list[Piece])
    pieces: list[Piece] = field(default_factory=list[Piece])


_ANY: Final = CharSet(is_negated=True)
_NOT_NEWLINE: Final = CharSet((("\n", "\n"),), is_negated=True)
_ASSERTIONS: Final = {
    "A": Op.BEGIN_TEXT,
    "z": Op.END_TEXT,
    "b": Op.WORD_BOUNDARY,
    "B": Op.NO_WORD_BOUNDARY,
}
_ESCAPES: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SPECIAL: Final = frozenset("()|^$.[*+?{\\")
_REPEATS: Final = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}
_OCTAL: Final = "01234567"
_HEX: Final = "0123456789abcdefABCDEF"
_MAX_DIGITS: Final = 8


def parse(pattern: str) -> list[Instruction]:
    """Parse a pattern.

    Returns:
        The program, with `Op.MATCH` at its end. Jumps are relative.

    Raises:
        PatternError: If the pattern is invalid or too large.
    """
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags = _Flags()
        self._groups = [_Group(self._flags)]
        self._size = 0
        self._repeat_start: int | None = None

    def parse(self) -> Code:
        steps = 0
        while self._at < len(self._text):
            start, repeat_start = self._at, self._repeat_start
            self._repeat_start = None
            self._parse_next(self._text[self._at], start, repeat_start)
            steps += 1
            # Empty groups and flags take steps without adding instructions.
            if steps > _MAX_INSTRUCTIONS or self._size > _MAX_INSTRUCTIONS:
                raise PatternError("expression too large", self._text)
        whole = self._close_branches(self._groups[-1])
        if len(self._groups) > 1:
            raise PatternError("missing closing )", self._text)
        return [*whole.code, Instruction(Op.MATCH)]

    def _parse_next(self, sign: str, start: int, repeat_start: int | None) -> None:
        self._at += 1
        if sign not in _SPECIAL:
            self._push_literal(sign)
            return
        match sign:
            case "(":
                self._parse_group(start)
            case ")":
                self._parse_group_end()
            case "|":
                group = self._groups[-1]
                # The alternatives are joined when the group ends.
                group.branches.append(joined(group.pieces))
                group.pieces = []
            case "^":
                self._push_op(Op.BEGIN_LINE if self._flags.is_multi_line else Op.BEGIN_TEXT)
            case "$":
                self._push_op(Op.END_LINE if self._flags.is_multi_line else Op.END_TEXT)
            case ".":
                self._push_set(_ANY if self._flags.dot_matches_newline else _NOT_NEWLINE)
            case "[":
                self._parse_class(start)
            case "*" | "+" | "?":
                self._repeat(*_REPEATS[sign], start, repeat_start, is_counted=False)
            case "{":
                self._parse_counted_repeat(start, repeat_start)
            case _:
                self._parse_escape_sequence(start)

    def _push(self, piece: Piece) -> None:
        if piece.height > _MAX_HEIGHT:
            raise PatternError("expression nests too deeply", self._text)
        self._size += len(piece.code)
        self._groups[-1].pieces.append(piece)

    def _push_op(self, op: Op) -> None:
        self._push(Piece([Instruction(op)]))

    def _push_set(self, chars: CharSet) -> None:
        self._push(Piece([Instruction(Op.CHAR, chars)]))

    def _push_literal(self, character: str) -> None:
        self._size += 1
        self._groups[-1].pieces.append(_literal(character, self._flags.folds_case))

    def _close_branches(self, group: _Group) -> Piece:
        whole = one_of([*group.branches, joined(group.pieces)])
        self._size += 2 * len(group.branches)
        return whole

    def _parse_group(self, start: int) -> None:
        if not self._text.startswith("?", self._at):
            self._groups.append(_Group(self._flags, captures=True))
            return
        for opening in ("?P<", "?<"):
            # Go checks the length first: an incomplete opening is a wrong flag.
            if self._text.startswith(opening, self._at) and len(self._text) > self._at + len(opening):
                self._parse_group_name(start, self._at + len(opening))
                return
        self._at += 1
        self._parse_flags(start)

    def _parse_group_name(self, start: int, name_start: int) -> None:
        end = self._text.find(">", self._at)
        if end < 0:
            raise PatternError("invalid named capture", self._text[start:])
        name = self._text[name_start:end]
        if not name or not all(character == "_" or (character.isascii() and character.isalnum()) for character in name):
            raise PatternError("invalid named capture", self._text[start : end + 1])
        self._at = end + 1
        self._groups.append(_Group(self._flags, captures=True))

    def _parse_flags(self, start: int) -> None:
        flags = _Flags(
            self._flags.folds_case,
            self._flags.is_multi_line,
            self._flags.dot_matches_newline,
            self._flags.prefers_few,
        )
        # ``(?-)`` and ``(?i-)`` are invalid: a minus needs a flag behind it.
        sets, has_flag = True, False
        while self._at < len(self._text):
            sign = self._text[self._at]
            self._at += 1
            match sign:
                case "i":
                    flags.folds_case = sets
                case "m":
                    flags.is_multi_line = sets
                case "s":
                    flags.dot_matches_newline = sets
                case "U":
                    flags.prefers_few = sets
                case "-" if sets:
                    sets, has_flag = False, False
                    continue
                case ":" | ")" if sets or has_flag:
                    if sign == ":":
                        self._groups.append(_Group(self._flags))
                    self._flags = flags
                    return
                case _:
                    break
            has_flag = True
        raise PatternError("invalid or unsupported Perl syntax", self._text[start : self._at])

    def _parse_group_end(self) -> None:
        group = self._groups.pop()
        if not self._groups:
            raise PatternError("unexpected )", self._text)
        whole = self._close_branches(group)
        # Flags set inside of a group end with it.
        self._flags = group.flags
        self._size -= len(whole.code)
        self._push(Piece(whole.code, whole.copies, whole.height + group.captures))

    def _parse_counted_repeat(self, start: int, repeat_start: int | None) -> None:
        counts = self._read_counts()
        if counts is None:
            self._at = start + 1
            # As in Perl, a brace that is no repetition is a literal.
            self._push_literal("{")
            return
        least, most = counts
        if least < 0 or least > _MAX_REPEAT or most > _MAX_REPEAT or 0 <= most < least:
            raise PatternError("invalid repeat count", self._text[start : self._at])
        self._repeat(least, most, start, repeat_start, is_counted=True)

    def _read_counts(self) -> tuple[int, int] | None:
        least = self._read_number()
        if least is None:
            return None
        most: int | None = least
        if self._text.startswith(",", self._at):
            self._at += 1
            if self._text.startswith("}", self._at):
                most = -1
            else:
                most = self._read_number()
                if most is not None and most < 0:
                    least = -1
        if most is None or not self._text.startswith("}", self._at):
            return None
        self._at += 1
        return least, most

    def _read_number(self) -> int | None:
        """Read a number; -1 if it is too large, None if no digit follows."""
        start = self._at
        while self._at < len(self._text) and self._text[self._at] in "0123456789":
            self._at += 1
        digits = self._text[start : self._at]
        if not digits or (digits[0] == "0" and len(digits) > 1):
            return None
        return int(digits) if len(digits) <= _MAX_DIGITS else -1

    def _repeat(self, least: int, most: int, start: int, repeat_start: int | None, *, is_counted: bool) -> None:
        prefers_few = self._flags.prefers_few
        if self._text.startswith("?", self._at):
            self._at += 1
            prefers_few = not prefers_few
        if repeat_start is not None:
            raise PatternError("invalid nested repetition operator", self._text[repeat_start : self._at])
        pieces = self._groups[-1].pieces
        if not pieces:
            raise PatternError("missing argument to repetition operator", self._text[start : self._at])
        body = pieces.pop()
        copies = body.copies
        if is_counted and most != 0:
            copies *= max(most if most > 0 else least, 1)
        elif is_counted:
            copies = 1
        if is_counted and (least > 1 or most > 1) and copies > _MAX_REPEAT:
            raise PatternError("invalid repeat count", self._text[start : self._at])
        size = len(body.code)
        self._size -= size
        # In addition to its copies, a loop or an optional copy has at most two instructions.
        if self._size + size * least + (size + 2) * max(most - least, 1) > _MAX_INSTRUCTIONS:
            raise PatternError("expression too large", self._text)
        code = repeated(body.code, least, most, prefers_few=prefers_few)
        self._push(Piece(code, copies, body.height + 1))
        self._repeat_start = start

    def _parse_escape_sequence(self, start: int) -> None:
        sign = self._text[self._at : self._at + 1]
        if sign in _ASSERTIONS:
            self._at += 1
            self._push_op(_ASSERTIONS[sign])
        elif sign == "C":
            raise PatternError("invalid escape sequence", "\\C")
        elif sign == "Q":
            literal, _, _ = self._text[self._at + 1 :].partition("\\E")
            self._at = min(self._at + 1 + len(literal) + 2, len(self._text))
            # Checked before the loop, which would take long for a hostile pattern.
            if len(literal) > _MAX_INSTRUCTIONS:
                raise PatternError("expression too large", self._text)
            for character in literal:
                self._push_literal(character)
        elif (found := self._read_class_escape(start)) is not None:
            self._push_set(found)
        else:
            self._push_literal(self._read_escape(start))

    def _read_class_escape(self, start: int) -> CharSet | None:
        r"""Read ``\d``, ``\pL`` and the like behind a backslash; None if something else follows."""
        sign = self._text[self._at : self._at + 1]
        if sign in {"p", "P"}:
            return self._read_unicode_class(start)
        ranges = PERL_CLASSES.get(sign.lower()) if sign else None
        if ranges is None:
            return None
        self._at += 1
        return CharSet(ranges, is_negated=sign.isupper(), folds_case=self._flags.folds_case)

    def _read_unicode_class(self, start: int) -> CharSet:
        is_negated = self._text[self._at] == "P"
        self._at += 1
        if self._text.startswith("{", self._at):
            end = self._text.find("}", self._at)
            if end < 0:
                raise PatternError("invalid character class range", self._text[start:])
            name, self._at = self._text[self._at + 1 : end], end + 1
        else:
            name, self._at = self._text[self._at : self._at + 1], min(self._at + 1, len(self._text))
        if name.startswith("^"):
            is_negated, name = not is_negated, name[1:]
        found = unicode_class(name)
        if found is None:
            raise PatternError("invalid character class range", self._text[start : self._at])
        return CharSet(unicode_name=found, is_negated=is_negated, folds_case=self._flags.folds_case)

    def _read_escape(self, start: int) -> str:
        """Read what one character is, behind a backslash."""
        if self._at >= len(self._text):
            raise PatternError("trailing backslash at end of expression", "")
        sign = self._text[self._at]
        self._at += 1
        following = self._text[self._at : self._at + 1]
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        # A single digit other than 0 would be a back reference, which RE2 does not have.
        if sign == "0" or (sign in _OCTAL and following and following in _OCTAL):
            digits = sign
            while len(digits) < 3 and self._at < len(self._text) and self._text[self._at] in _OCTAL:
                digits += self._text[self._at]
                self._at += 1
            return chr(int(digits, 8))
        if sign == "x" and following:
            return self._read_hex(start)
        if sign.isascii() and not sign.isalnum():
            return sign
        raise PatternError("invalid escape sequence", self._text[start : self._at])

    def _read_hex(self, start: int) -> str:
        if not self._text.startswith("{", self._at):
            digits = self._text[self._at : self._at + 2]
            self._at += len(digits)
            if len(digits) < 2 and digits:  # Go reads on, beyond the end
                raise PatternError("invalid escape sequence", self._text[start : self._at])
            if any(digit not in _HEX for digit in digits):
                raise PatternError("invalid escape sequence", self._text[start : self._at])
            return chr(int(digits, 16))
        self._at += 1
        code, count = 0, 0
        while self._at < len(self._text):
            sign = self._text[self._at]
            self._at += 1
            if sign == "}" and count:
                return chr(code)
            if sign not in _HEX:
                break
            code, count = code * 16 + int(sign, 16), count + 1
            # Inside of the loop, before the number becomes arbitrarily large.
            if code > _MAX_RUNE:
                break
        raise PatternError("invalid escape sequence", self._text[start : self._at])

    def _parse_class(self, start: int) -> None:
        is_negated = self._text.startswith("^", self._at)
        self._at += is_negated
        ranges: list[tuple[str, str]] = []
        subsets: list[CharSet] = []
        is_first = True
        # A bracket in the first position is a literal.
        while is_first or not self._text.startswith("]", self._at):
            is_first = False
            if len(ranges) + len(subsets) > _MAX_INSTRUCTIONS:
                raise PatternError("expression too large", self._text)
            if (subset := self._read_subset()) is not None:
                subsets.append(subset)
            else:
                ranges.append(self._read_range(start))
        self._at += 1
        folds_case = self._flags.folds_case
        self._push_set(CharSet(tuple(ranges), tuple(subsets), is_negated=is_negated, folds_case=folds_case))

    def _read_subset(self) -> CharSet | None:
        r"""Read ``[:alnum:]``, ``\d`` or ``\pL`` within a class; None if something else follows."""
        if self._text.startswith("[:", self._at):
            end = self._text.find(":]", self._at + 2)
            if end >= 0:
                name, start = self._text[self._at + 2 : end], self._at
                self._at = end + 2
                ranges = NAMED_CLASSES.get(name.removeprefix("^"))
                if ranges is None:
                    raise PatternError("invalid character class range", self._text[start : self._at])
                is_negated = name.startswith("^")
                return CharSet(ranges, is_negated=is_negated, folds_case=self._flags.folds_case)
        elif self._text.startswith("\\", self._at):
            self._at += 1
            if (found := self._read_class_escape(self._at - 1)) is not None:
                return found
            self._at -= 1
        return None

    def _read_range(self, class_start: int) -> tuple[str, str]:
        start = self._at
        first = last = self._read_class_character(class_start)
        if self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in {"", "]"}:
            self._at += 1
            last = self._read_class_character(class_start)
            if last < first:
                raise PatternError("invalid character class range", self._text[start : self._at])
        return first, last

    def _read_class_character(self, class_start: int) -> str:
        if self._at >= len(self._text):
            raise PatternError("missing closing ]", self._text[class_start:])
        self._at += 1
        if self._text[self._at - 1] == "\\":
            return self._read_escape(self._at - 1)
        return self._text[self._at - 1]


@lru_cache(maxsize=512)
def _literal(character: str, folds_case: bool) -> Piece:
    """Return the piece of one character; pieces are never changed."""
    chars = CharSet(((character, character),), folds_case=folds_case)
    return Piece([Instruction(Op.CHAR, chars)], is_literal=True)
