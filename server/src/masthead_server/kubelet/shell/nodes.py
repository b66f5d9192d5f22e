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
    "Compound",
    "ForLoop",
    "FunctionDefinition",
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
    """A redirection: ``<``, ``>``, ``2>``, ``2>&1``, ``>&-`` or the like, and the file; or ``<<`` and the text."""

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
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """``while`` or ``until … do … done``."""

    condition: Script
    body: Script
    is_until: bool = False
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class ForLoop:
    """``for name in words; do … done``; without words, the loop is over the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Script
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """``case word in pattern) …;; esac``: the word, and the patterns with their bodies."""

    word: Word
    branches: tuple[tuple[tuple[Word, ...], Script], ...]
    redirects: tuple[Redirect, ...] = ()


Compound: TypeAlias = CommandGroup | If | WhileLoop | ForLoop | Case


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """``name() { list; }``: the name, the body, and the characters of the body."""

    name: str
    body: Compound
    size: int = 0


Command: TypeAlias = SimpleCommand | Compound | FunctionDefinition


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
    """Iterate over the names of all commands of a script; a name that begins with a variable is empty.

    Functions of the script are not among them, but the commands of their bodies are.
    """
    functions: set[str] = set()
    names = list(_names_of(script, functions))
    return (name for name in names if name not in functions)


def _names_of(script: Script, functions: set[str]) -> Iterator[str]:
    for chain in script:
        for pipeline in (chain.first, *(pipeline for _, pipeline in chain.rest)):
            for command in pipeline.commands:
                yield from _names(command, functions)


def _names(command: Command, functions: set[str]) -> Iterator[str]:
    if isinstance(command, FunctionDefinition):
        functions.add(command.name)
        yield from _names(command.body, functions)
        return
    for word in _words(command):
        yield from _names_within(word, functions)
    if isinstance(command, SimpleCommand):
        yield from _names_of_words(command.words)
        return
    for body in _bodies(command):
        yield from _names_of(body, functions)


def _names_of_words(words: tuple[Word, ...]) -> Iterator[str]:
    """The command that words name, and the command that it runs."""
    runner = ""
    for word in words:
        name = "" if any(part.is_variable for part in word) else "".join(part.text for part in word)
        # "command -v name" only asks for a name, and "env A=1 name" runs it.
        if runner and name.startswith("-") and not (runner == "env" and name == "-i"):
            return
        if runner == "env" and (name == "-i" or "=" in "".join(part.text for part in word)):
            continue
        yield name
        if name not in {"command", "exec", "env"}:
            return
        runner = name


def _words(command: SimpleCommand | Compound) -> Iterator[Word]:
    """The words of a command, whose substitutions run commands, too."""
    yield from (redirect.target for redirect in command.redirects)
    if isinstance(command, SimpleCommand):
        yield from command.words
        yield from (word for _, word in command.assignments)
    elif isinstance(command, ForLoop):
        yield from command.words or ()
    elif isinstance(command, Case):
        yield command.word


def _names_within(word: Word, functions: set[str]) -> Iterator[str]:
    for part in word:
        if part.script is not None:
            yield from _names_of(part.script, functions)
        yield from _names_within(part.operand, functions)


def _bodies(command: Compound) -> Iterator[Script]:
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
