"""What goes wrong with an expression: when it is compiled, and when it is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NO_OVERLOAD", "CelError", "CompileError", "CostError", "EvaluationError", "Issue", "describe"]

NO_OVERLOAD: Final = "no such overload"
"""The error of a call whose arguments have types that it does not take."""

_MAX_ISSUES: Final = 100
_MAX_SNIPPET: Final = 16_384
_COST_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"


class CelError(Exception):
    """An expression does not compile, or has no value."""


class Issue(NamedTuple):
    """An error in the text of an expression.

    Attributes:
        offset: Its position in characters from the start; -1 for an error of the whole expression.
        message: The problem.
    """

    offset: int
    message: str


class CompileError(CelError):
    """An expression does not compile.

    Attributes:
        issues: All errors in its text.
    """

    def __init__(self, source: str, issues: Iterable[Issue]) -> None:
        self.issues = tuple(issues)
        super().__init__(describe(source, self.issues))


class EvaluationError(CelError):
    """An expression has no value: a key is missing, a number overflows.

    The operators ``&&`` and ``||`` and the macros ``all`` and ``exists`` absorb it where the other operand decides.
    """


class CostError(CelError):
    """The evaluation costs more than its limit. Nothing absorbs it."""

    def __init__(self) -> None:
        super().__init__(_COST_EXCEEDED)


def describe(source: str, issues: Iterable[Issue]) -> str:
    """Write errors with their lines of the source, as the server does."""
    found = list(issues)
    # The first that are found, in the order of their places.
    located = sorted((_locate(source, issue) for issue in found[:_MAX_ISSUES]), key=_place)
    texts = [_describe_one(*error) for error in located]
    if len(found) > _MAX_ISSUES:
        texts.append(f"{len(found) - _MAX_ISSUES} more errors were truncated")
    return "\n".join(texts)


def _place(issue: tuple[int, int, str, str]) -> tuple[int, int]:
    return issue[:2]


def _locate(source: str, issue: Issue) -> tuple[int, int, str, str]:
    """The line and column of an error, its line of the source, and its message."""
    if issue.offset < 0:
        return -1, -1, "", issue.message
    if not source:
        # There is no character to point at.
        return 1, -1, "", issue.message
    start = source.rfind("\n", 0, issue.offset) + 1
    end = source.find("\n", start)
    snippet = source[start : len(source) if end < 0 else end]
    return source.count("\n", 0, issue.offset) + 1, issue.offset - start, snippet, issue.message


def _describe_one(line: int, column: int, snippet: str, message: str) -> str:
    text = f"ERROR: <input>:{line}:{column + 1}: {message}"
    if column < 0 or len(snippet.encode("utf-8", "surrogatepass")) > _MAX_SNIPPET:
        return text
    snippet = snippet.replace("\t", " ")
    # Wide characters get wide dots, so that the mark is below its character.
    dots = "".join("." if character < "\x80" else "\uff0e" for character in snippet[:column])
    mark = "^" if snippet[column : column + 1] < "\x80" else "\uff3e"
    return f"{text}\n | {snippet}\n | {dots}{mark}"
