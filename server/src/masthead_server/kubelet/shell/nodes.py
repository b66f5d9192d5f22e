"""The parts of a script of the built-in shell, as the parser finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "AndOr",
    "Case",
    "Command",
    "CommandGroup",
    "ForLoop",
    "If",
    "Part",
    "Pipeline",
    "Redirect",
    "Script",
    "SimpleCommand",
    "WhileLoop",
    "Word",
    "command_names",
]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a word.

    Attributes:
        text: The text, or the name of a variable.
        is_variable: Whether it is a variable.
        is_quoted: Whether it is quoted, so that its value is not split at blanks.
    """

    text: str
    is_variable: bool = False
    is_quoted: bool = False
    script: Script | None = None
    """The commands whose output is the value, for ``$(…)``."""
    value: str | None = None
    """The output of these commands, once they have run."""
    operator: str = ""
    """What changes the value of the variable: ``:-`` and the like, ``#`` for its length, ``((`` for arithmetic."""
    operand: Word = ()
    """The word behind the operator, or the expression."""


Word: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection: ``<``, ``>``, ``>>``, ``2>``, ``2>>``, ``2>&1``, ``>&2`` or ``&>``, and the file."""

    operator: str
    target: Word = ()


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """Assignments, a command with its arguments, and redirections."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]

    @property
    def is_test(self) -> bool:
        """Whether it is ``[[ … ]]``."""
        return bool(self.words) and self.words[0] == (Part("[["),)


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """``{ list; }``, or a list in parentheses, which changes nothing outside."""

    body: Script
    redirects: tuple[Redirect, ...] = ()
    is_subshell: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """``if … then … elif … else … fi``: conditions with their bodies, and what else to do."""

    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script = ()


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """``while`` or ``until … do … done``."""

    condition: Script
    body: Script
    is_until: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class ForLoop:
    """``for name in words; do … done``."""

    name: str
    words: tuple[Word, ...]
    body: Script
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """``case word in pattern) …;; esac``: the word, and the patterns with their bodies."""

    word: Word
    branches: tuple[tuple[tuple[Word, ...], Script], ...]


Command: TypeAlias = SimpleCommand | CommandGroup | If | WhileLoop | ForLoop | Case


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands that run concurrently, each reading the output of the previous one."""

    commands: tuple[Command, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines, each but the first with ``&&`` or ``||`` before it."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...] = ()
    is_background: bool = False


Script: TypeAlias = tuple[AndOr, ...]


def command_names(script: Script) -> Iterator[str]:
    """Iterate over the names of all commands of a script; a name that begins with a variable is empty."""
    for chain in script:
        for pipeline in (chain.first, *(pipeline for _, pipeline in chain.rest)):
            for command in pipeline.commands:
                yield from _names(command)


def _names(command: Command) -> Iterator[str]:
    for word in _words(command):
        yield from _names_within(word)
    if isinstance(command, SimpleCommand):
        for word in command.words:
            name = "" if any(part.is_variable for part in word) else "".join(part.text for part in word)
            yield name
            # Builtins that run another command: that one must be known, too.
            if name not in {"command", "exec"}:
                break
        return
    for body in _bodies(command):
        yield from command_names(body)


def _words(command: Command) -> Iterator[Word]:
    """The words of a command, whose substitutions run commands, too."""
    if isinstance(command, SimpleCommand):
        yield from command.words
        yield from (word for _, word in command.assignments)
    elif isinstance(command, ForLoop):
        yield from command.words
    elif isinstance(command, Case):
        yield command.word


def _names_within(word: Word) -> Iterator[str]:
    for part in word:
        if part.script is not None:
            yield from command_names(part.script)
        yield from _names_within(part.operand)


def _bodies(command: CommandGroup | If | WhileLoop | ForLoop | Case) -> Iterator[Script]:
    if isinstance(command, If):
        for condition, body in command.branches:
            yield condition
            yield body
        yield command.otherwise
    elif isinstance(command, Case):
        yield from (body for _, body in command.branches)
    else:
        if isinstance(command, WhileLoop):
            yield command.condition
        yield command.body
