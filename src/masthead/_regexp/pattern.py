"""Patterns: searching a text in time that is linear in its length.

`Pattern.search` runs a deterministic automaton, whose states are built when a text first needs them; afterwards a
character costs one look-up. `Pattern.find` must locate the beginning of a match, and so runs the program for all
possibilities in parallel, in the order in which Perl would try them.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import getitem
from typing import TYPE_CHECKING, Final

from masthead._regexp.program import Op
from masthead._regexp.syntax import PatternError, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["MatchLimitError", "Pattern", "PatternError", "compile_pattern"]

_MAX_TRANSITIONS: Final = 5_000
"""The maximum number of cached transitions. Beyond it the cache is cleared and rebuilt on demand."""
_MAX_STEPS: Final = 150_000
"""Instructions of the program that one search may run, some fifty milliseconds; known transitions are free."""
_CACHED_PATTERNS: Final = 256

_EDGE: Final = ""
"""The pseudo-character before the first and behind the last."""


class MatchLimitError(Exception):
    """A search takes too long."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"matching takes too long: `{pattern}`")


class Pattern:
    """A regular expression.

    Attributes:
        text: The expression.
    """

    def __init__(self, text: str) -> None:
        """Compile a pattern.

        Raises:
            PatternError: If it is invalid or too large.
        """
        self.text = text
        self._program = [
            (instruction.op, instruction.chars, instruction.first, instruction.second) for instruction in parse(text)
        ]
        self._forget()
        self._steps = 0

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"

    def search(self, text: str) -> bool:
        """Tell whether the pattern matches anywhere in a text.

        Raises:
            MatchLimitError: If it takes too long.
        """
        self._steps = 0
        # The loop over the text runs in C: a state is a dict from characters to states.
        state = reduce(getitem, text, self._start)
        return state.accepts_at_end()

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        r"""Return where the first match begins and ends, as Perl would find it; None if nothing matches.

        Args:
            text: The text.
            start: Where to begin. What precedes is considered by ``^`` and ``\b``.

        Raises:
            MatchLimitError: If it takes too long.
        """
        self._steps = 0
        return self._find(text, start)

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """Return the matches that do not overlap, in order; an empty one right behind another does not count.

        Args:
            text: The text.
            limit: The most matches to return; negative for all.

        Raises:
            MatchLimitError: If it takes too long.
        """
        self._steps = 0
        found: list[str] = []
        position, last_end = 0, -1
        while position <= len(text) and (limit < 0 or len(found) < limit):
            match = self._find(text, position)
            if match is None:
                break
            begin, end = match
            # An empty match directly behind the previous one does not count, as in Go.
            if end > begin or begin != last_end:
                found.append(text[begin:end])
            last_end = end
            position = end if end > position else position + 1
        return found

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._transitions = 0
        self._accepting = _AcceptingState(self, frozenset(), _EDGE)
        self._start = self._state(frozenset(), _EDGE)

    def _state(self, threads: frozenset[int], before: str) -> _State:
        key = (threads, before)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _State(self, threads, before)
        return state

    def transition(self, state: _State, character: str) -> _State:
        """Return the state behind a character.

        Raises:
            MatchLimitError: If the search takes too long.
        """
        after = _kind(character)
        reading = state.reading.get(after)
        if reading is None:
            reading = state.reading[after] = self._follow(state, after)
        if reading is _MATCHED:
            return self._accepting
        self._count(len(reading))
        program = self._program
        threads = frozenset(thread + 1 for thread in reading if character in program[thread][1])  # type: ignore[operator]
        # The cache is bounded, because a text may contain any number of different characters.
        self._transitions += 1
        if self._transitions > _MAX_TRANSITIONS:
            # The state that follows is not known to the others; all that a search keeps is its current state.
            self._forget()
        return self._state(threads, after)

    def accepts(self, state: _State) -> bool:
        """Tell whether a text that ends in a state matches.

        Raises:
            MatchLimitError: If the search takes too long.
        """
        reading = state.reading.get(_EDGE)
        if reading is None:
            reading = state.reading[_EDGE] = self._follow(state, _EDGE)
        return reading is _MATCHED

    def _follow(self, state: _State, after: str) -> frozenset[int]:
        """Return the instructions that read the next character; `_MATCHED` if the pattern matches before it."""
        reading: set[int] = set()
        # A match may begin anywhere: at instruction 0 in front of every character.
        for op, at in self._reach((0, *state.threads), state.before, after, set()):
            if op is Op.MATCH:
                return _MATCHED
            reading.add(at)
        return frozenset(reading)

    def _reach(self, starts: Iterable[int], before: str, after: str, seen: set[int]) -> Iterator[tuple[Op, int]]:
        """Yield the instructions that read or match, reached without reading, in the order of preference."""
        program = self._program
        stack = list(starts)
        # The first start is popped first: its threads are preferred.
        stack.reverse()
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            op, _, first, second = program[at]
            if op is Op.CHAR or op is Op.MATCH:
                yield op, at
            elif op is Op.SPLIT:
                # The preferred branch is pushed last, and so followed first.
                stack.append(at + second)
                stack.append(at + first)
            elif op is Op.JUMP or _holds(op, before, after):
                stack.append(at + first)
        self._count(len(seen))

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MAX_STEPS:
            raise MatchLimitError(self.text)

    def _find(self, text: str, start: int) -> tuple[int, int] | None:
        program = self._program
        found: tuple[int, int] | None = None
        threads: list[tuple[int, int]] = []  # instruction, and where its match begins
        before = _kind(text[start - 1]) if start else _EDGE
        for position in range(start, len(text) + 1):
            character = text[position : position + 1]
            after = _kind(character) if character else _EDGE
            # Leftmost match: no thread starts behind a match.
            if found is None:
                threads.append((0, position))
            seen: set[int] = set()
            following: list[tuple[int, int]] = []
            for at, begin in threads:
                for op, reached in self._reach((at,), before, after, seen):
                    if op is Op.MATCH:
                        found = (begin, position)
                        break
                    if character and character in program[reached][1]:  # type: ignore[operator]
                        following.append((reached + 1, begin))
                else:
                    continue
                # What follows in the order of preference loses to this match.
                break
            self._count(1)
            if not following and found is not None:
                break
            threads, before = following, after
        return found


class _State(dict[str, "_State"]):
    """A state of the automaton: the states behind each character that was read in it so far."""

    __slots__ = ("before", "pattern", "reading", "threads")

    def __init__(self, pattern: Pattern, threads: frozenset[int], before: str) -> None:
        super().__init__()
        self.pattern = pattern
        self.threads = threads
        self.before = before
        self.reading: dict[str, frozenset[int]] = {}

    def __missing__(self, character: str) -> _State:
        found = self[character] = self.pattern.transition(self, character)
        return found

    def accepts_at_end(self) -> bool:
        """Tell whether a text that ends here matches."""
        return self.pattern.accepts(self)


class _AcceptingState(_State):
    """The pattern has matched already."""

    __slots__ = ()

    def __missing__(self, character: str) -> _State:
        return self

    def accepts_at_end(self) -> bool:
        return True


_MATCHED: Final = frozenset({-1})
_NEWLINE: Final = "\n"
_WORD: Final = "w"
_OTHER: Final = " "


def _kind(character: str) -> str:
    """Return what assertions know of a character."""
    if character == "\n":
        return _NEWLINE
    return _WORD if character == "_" or (character.isascii() and character.isalnum()) else _OTHER


def _holds(op: Op, before: str, after: str) -> bool:
    match op:
        case Op.BEGIN_TEXT:
            return before is _EDGE
        case Op.END_TEXT:
            return after is _EDGE
        case Op.BEGIN_LINE:
            return before is _EDGE or before is _NEWLINE
        case Op.END_LINE:
            return after is _EDGE or after is _NEWLINE
        case Op.WORD_BOUNDARY:
            return (before is _WORD) is not (after is _WORD)
        case _:
            return (before is _WORD) is (after is _WORD)


@lru_cache(maxsize=_CACHED_PATTERNS)
def compile_pattern(text: str) -> Pattern:
    """Compile a pattern; the same one for the same text, most of the time.

    Raises:
        PatternError: If it is invalid or too large.
    """
    return Pattern(text)
