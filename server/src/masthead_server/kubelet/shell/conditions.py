"""``test``, ``[`` and ``[[``: conditions about files, texts and numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.filesystem import Directory, RegularFile, Symlink
from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.devices import is_device

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead_server.kubelet.filesystem import Node
    from masthead_server.kubelet.shell.state import CommandIO, ShellState

__all__ = ["bracket", "double_bracket", "run_test"]

_BAD_USE: Final = 2
_OF_FILES: Final = frozenset(f"-{letter}" for letter in "defghkprstuwxLbcSGO")
_OF_TEXTS: Final = frozenset({"-n", "-z"})
_KINDS: Final[Mapping[str, type[RegularFile | Directory | Symlink]]] = {
    "-f": RegularFile,
    "-d": Directory,
    "-L": Symlink,
    "-h": Symlink,
}
_UNARY: Final = _OF_FILES | _OF_TEXTS
_NUMERIC: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_BINARY: Final = frozenset({"=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"}) | _NUMERIC
_INTEGER: Final = re.compile(r"\s*[-+]?[0-9]{1,19}\s*")
_MAX_DEPTH: Final = 50


async def run_test(arguments: list[str], io: CommandIO) -> int:
    """Evaluate a condition; return 0 if it holds, and 1 if it does not."""
    return int(not _Condition(arguments, io.state).evaluate())


async def bracket(arguments: list[str], io: CommandIO) -> int:
    """Evaluate a condition that ends with a bracket."""
    if not arguments or arguments[-1] != "]":
        raise UsageError("missing ]", _BAD_USE)
    return await run_test(arguments[:-1], io)


async def double_bracket(arguments: list[str], io: CommandIO) -> int:
    """Evaluate a single test; the parser has refused what single brackets cannot do."""
    if not arguments or arguments[-1] != "]]":
        raise UsageError("missing ]]", _BAD_USE)
    return await run_test(arguments[:-1], io)


class _Condition:
    """Evaluates the words of a condition.

    Args:
        words: The words.
        state: The state of the shell, for its files.
    """

    def __init__(self, words: Sequence[str], state: ShellState) -> None:
        self._words = words
        self._state = state
        self._position = 0
        self._depth = 0

    def evaluate(self) -> bool:
        """Return the value of the condition.

        Raises:
            UsageError: If it is invalid.
        """
        words = self._words
        if not words:
            return False
        # POSIX decides by the number of words, so that operands may look like operators.
        if len(words) == 4 and words[0] == "!":
            return not _Condition(words[1:], self._state).evaluate()
        if len(words) == 3 and words[1] in _BINARY:
            return self._compare(*words)
        if len(words) == 3 and words[0] == "!":
            return not _Condition(words[1:], self._state).evaluate()
        if len(words) == 2 and words[0] == "!":
            return not words[1]
        if len(words) == 1:
            return bool(words[0])
        value = self._disjunction()
        if self._position < len(words):
            raise UsageError(f"{words[self._position]}: unexpected operator", _BAD_USE)
        return value

    def _peek(self, offset: int = 0) -> str | None:
        index = self._position + offset
        return self._words[index] if index < len(self._words) else None

    def _next(self) -> str:
        word = self._peek()
        if word is None:
            raise UsageError("argument expected", _BAD_USE)
        self._position += 1
        return word

    def _disjunction(self) -> bool:
        value = self._conjunction()
        while self._peek() == "-o":
            self._position += 1
            value = self._conjunction() or value
        return value

    def _conjunction(self) -> bool:
        value = self._negation()
        while self._peek() == "-a":
            self._position += 1
            value = self._negation() and value
        return value

    def _negation(self) -> bool:
        negates = False
        while self._peek() == "!" and self._peek(1) not in _BINARY and self._peek(1) is not None:
            self._position += 1
            negates = not negates
        return self._primary() != negates

    def _primary(self) -> bool:
        word = self._next()
        operator = self._peek()
        if operator in _BINARY and self._peek(1) is not None:
            self._position += 1
            return self._compare(word, str(operator), self._next())
        if word == "(":
            return self._group()
        if word in _UNARY and operator is not None and not self._ends_operand(operator):
            return self._check(word, self._next())
        # A single word is a text, which is true unless it is empty.
        return bool(word)

    def _ends_operand(self, word: str) -> bool:
        """Tell whether a word behind what looks like an operator connects conditions."""
        return word in {"-a", "-o", ")"} and self._peek(1) is not None and self._peek(1) not in {"-a", "-o"}

    def _group(self) -> bool:
        self._depth += 1
        # It recurses, and the words come from a client.
        if self._depth > _MAX_DEPTH:
            raise UsageError("nested too deeply", _BAD_USE)
        value = self._disjunction()
        if self._next() != ")":
            raise UsageError("closing paren expected", _BAD_USE)
        self._depth -= 1
        return value

    def _compare(self, left: str, operator: str, right: str) -> bool:
        if operator in {"=", "==", "!="}:
            return (left == right) == (operator != "!=")
        if operator in {"<", ">"}:
            return left < right if operator == "<" else left > right
        if operator not in _NUMERIC:
            return self._compare_files(left, operator, right)
        one, other = _integer(left), _integer(right)
        results = {
            "-eq": one == other,
            "-ne": one != other,
            "-lt": one < other,
            "-le": one <= other,
            "-gt": one > other,
            "-ge": one >= other,
        }
        return results[operator]

    def _compare_files(self, left: str, operator: str, right: str) -> bool:
        one, other = self._find(left), self._find(right)
        if operator == "-ef":
            return one is not None and one is other
        if one is None or other is None:
            # An existing file is newer than a missing one.
            return (one if operator == "-nt" else other) is not None and one is not other
        return one.mtime > other.mtime if operator == "-nt" else one.mtime < other.mtime

    def _find(self, path: str, *, follow: bool = True) -> Node | None:
        try:
            return self._state.files.get(self._state.path(path), follow=follow)
        except OSError:
            return None

    def _check(self, operator: str, operand: str) -> bool:
        if operator in _OF_TEXTS:
            return bool(operand) == (operator == "-n")
        if operator == "-t":
            return False
        is_link = operator in {"-L", "-h"}
        if is_device(self._state.path(operand)):
            return operator in {"-e", "-r", "-w", "-c"}
        # An empty path is that of no file.
        node = self._find(operand, follow=not is_link) if operand else None
        if node is None:
            return False
        return _has_property(node, operator)


def _has_property(node: Node, operator: str) -> bool:
    """Tell whether a file exists and is what an operator asks for."""
    if operator in _KINDS:
        return type(node) is _KINDS[operator]
    if operator == "-x" and not isinstance(node, Directory):
        return bool(node.mode & 0o111)
    if operator == "-s":
        return node.size > 0 if isinstance(node, RegularFile) else True
    # All files belong to root, which may read and write all of them; there are no pipes and sockets.
    return operator in {"-e", "-r", "-w", "-x", "-O", "-G"}


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise UsageError(f"Illegal number: {text}", _BAD_USE)
    return int(text)
