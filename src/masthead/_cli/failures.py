"""The message of the command line for an error: a line, a hint, and the exit code. Pure: nothing is printed here."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from masthead._errors.base import printable
from masthead._value import Value
from masthead.errors import (
    ApplyConflictError,
    ArgumentError,
    AuthError,
    ConfigError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    GenerateError,
    ManifestError,
    MastheadError,
    NotFoundError,
    StatusError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
    UnknownKindError,
    UnprocessableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CommandError", "ExitCode", "ExplainedFailure", "explain"]


class ExitCode(IntEnum):
    """The exit codes of ``masthead``."""

    OK = 0
    FAILED = 1
    """The server refused something, an object has failed; for ``diff``: there are differences."""
    USAGE = 2
    """An argument is wrong."""
    NO_CONNECTION = 3
    """There is no usable configuration or credential, or the server cannot be reached."""
    NOT_FOUND = 4
    """The kind, the object or the namespace does not exist."""
    FORBIDDEN = 5
    """The server does not know the user, or does not allow it."""
    TIMEOUT = 124
    """A deadline has passed."""
    INTERRUPTED = 130
    """Ctrl-C."""
    BROKEN_PIPE = 141
    """The reader of the output has closed it."""


class ExplainedFailure(Value):
    """How a command ends that has failed.

    Attributes:
        line: What went wrong, in one line; some errors list objects in further, indented lines.
        hint: What to do next; empty if there is nothing to say.
        code: The exit code.
    """

    line: str
    hint: str
    code: ExitCode


class CommandError(Exception):
    """Raised by a command that knows best what to say.

    Args:
        line: What went wrong.
        hint: What to do next.
        code: The exit code.
    """

    def __init__(self, line: str, *, hint: str = "", code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(line)
        self.line = line
        self.hint = hint
        self.code = code


_NO_CLUSTER: Final = (
    "name a kubeconfig with --kubeconfig or KUBECONFIG; without a cluster, start one: "
    "masthead serve --kubeconfig-out FILE"
)
_NUMBERED: Final = re.compile(r" \(manifest \d+\)$")
"""Where an object comes from that was not in a file."""
_COMPARED: Final = "these manifests cannot be compared"
"""How the error of a diff begins that the server has refused."""
_PLAIN_HTTP: Final = ", or pass allow_plain_http=True"
"""Advice for programs, without a counterpart among the options."""
_WORDS: Final = (
    ("container=...", "-c NAME"),
    ('field_validation="Warn" or "Ignore" has', "--validate warn or ignore has"),
    (", as with conditions.pod_running()", ", as with masthead wait"),
    (", as with wait_for(name, conditions.deleted())", ", as with masthead wait --for=delete"),
    (" (ca_file)", ""),
)
"""What the advice for programs is in options and commands."""
_BUG: Final = "this is a bug; --debug shows where"


def explain(error: BaseException) -> ExplainedFailure:
    """Return what to say about an error.

    Args:
        error: The error that ended the command.
    """
    # A command knows its situation better than any rule below.
    if isinstance(error, CommandError):
        return ExplainedFailure(error.line, error.hint, error.code)
    if isinstance(error, ManifestError):
        return _explain_manifests(error)
    # Before the table of client-side errors: a Status has a code and advice from the server.
    if isinstance(error, StatusError):
        return _explain_status(error)
    for kind, explained in _CLIENT_SIDE:
        if isinstance(error, kind):
            return explained(error)
    # Files and standard streams: a traceback would not help a user who has misspelt a path.
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return ExplainedFailure(f"{where}{error.strerror or error}", "", ExitCode.FAILED)
    return ExplainedFailure(f"{type(error).__name__}: {_text(error)}", _BUG, ExitCode.FAILED)


def _explain_manifests(error: ManifestError) -> ExplainedFailure:
    """Manifests list their problems; a cause explains the problem better, and has the code."""
    cause = error.__cause__
    inner = explain(cause) if cause is not None else None
    # A single problem is worth its own line, with the hint of its cause.
    if len(error.problems) == 1:
        return _explain_problem(error, inner)
    code = inner.code if inner is not None else ExitCode.FAILED
    if inner is None or error.problems:
        return ExplainedFailure(_text(error), "", code)
    # Its own message ends with advice for programs, and with the finished objects, which have been printed.
    which = _NUMBERED.sub("", _text(error).partition(": ")[0])
    return ExplainedFailure(f"{which}: {inner.line}", inner.hint, code)


def _explain_problem(error: ManifestError, inner: ExplainedFailure | None) -> ExplainedFailure:
    """The only problem of manifests, in one line."""
    problem = error.problems[0]
    hint, code = "", ExitCode.FAILED
    if inner is not None:
        which = problem.removesuffix(f": {error.__cause__}")
        problem, hint, code = f"{which}: {inner.line}", inner.hint, inner.code
    # A diff has asked the server, and changes nothing anyway.
    # The error of a diff may come after a request, so that "nothing was sent" would be wrong.
    is_sent = str(error).startswith(_COMPARED)
    return ExplainedFailure(f"{'' if is_sent else 'nothing was sent: '}{printable(problem)}", hint, code)


def _advice(error: StatusError) -> str:
    """The next step, in words of the command line."""
    advice = error.next_step
    # The advice names arguments of Python functions, which a user of the command cannot pass.
    for theirs, ours in _WORDS:
        advice = advice.replace(theirs, ours)
    return advice


def _explain_status(error: StatusError) -> ExplainedFailure:
    line = f"{printable(error.message) or 'the server gave no message'} ({error.code} {error.reason or 'Unknown'})"
    if isinstance(error, UnauthorizedError):
        hint = "the credentials are missing, wrong or expired: log in again, or check --context"
        return ExplainedFailure(line, hint, ExitCode.FORBIDDEN)
    if isinstance(error, ForbiddenError):
        return ExplainedFailure(line, _advice(error), ExitCode.FORBIDDEN)
    if isinstance(error, NotFoundError):
        return ExplainedFailure(line, _advice(error), ExitCode.NOT_FOUND)
    if isinstance(error, ApplyConflictError):
        hint = (
            "take these fields over with --force-conflicts, leave them out of the manifest, or merge as plain kubectl "
            "apply does with --client-side"
        )
        return ExplainedFailure(line, hint, ExitCode.FAILED)
    if isinstance(error, UnprocessableError):
        return ExplainedFailure(line, "fix the fields that the message names", ExitCode.FAILED)
    # The client has already retried as long as the server asked.
    if isinstance(error, TooManyRequestsError):
        return ExplainedFailure(line, "wait a little, then try again", ExitCode.FAILED)
    return ExplainedFailure(line, _advice(error), ExitCode.FAILED)


def _no_connection(hint: str) -> Callable[[BaseException], ExplainedFailure]:
    """The message's own advice, behind its first semicolon, comes before a general hint."""

    def explained(error: BaseException) -> ExplainedFailure:
        # Messages of the library have the problem first and the advice after a semicolon.
        line, _, advice = _text(error).partition("; ")
        return ExplainedFailure(line, advice or hint, ExitCode.NO_CONNECTION)

    return explained


def _explain_deadline(error: BaseException) -> ExplainedFailure:
    line = _text(error).partition("; ")[0]
    return ExplainedFailure(
        line,
        "wait longer with --request-timeout, or request less; if nothing arrives at all, check the network path to the "
        "server",
        ExitCode.NO_CONNECTION,
    )


def _explain_config(error: BaseException) -> ExplainedFailure:
    # The list of attempts ends with advice for programs.
    line, found, _ = _text(error).replace(_PLAIN_HTTP, "").partition("Name a kubeconfig, or set KUBECONFIG")
    # The attempts are a list, one line each.
    problem, *tried = [part.strip(" -.") for part in line.strip().splitlines()]
    said = f"{problem} {'; '.join(tried)}" if tried else problem
    return ExplainedFailure(said, _NO_CLUSTER if found else "", ExitCode.NO_CONNECTION)


def _explain_unknown_kind(error: BaseException) -> ExplainedFailure:
    line, found, near = _text(error).partition("; the nearest: ")
    if found:
        return ExplainedFailure(line, f"did you mean {near}?", ExitCode.NOT_FOUND)
    line, _, hint = line.partition("; ")
    # The usual mistake of `masthead scale web`: a name in the place of the kind.
    if hint.startswith("if it is custom"):
        hint += "; if it is a name, write its kind before it, as in deploy/web"
    return ExplainedFailure(line, hint, ExitCode.NOT_FOUND)


def _explain_generate(error: BaseException) -> ExplainedFailure:
    """Blame the named source, unless a server has given an unexpected answer."""
    # Without a cause from the library, the named file or folder is wrong.
    if not isinstance(error.__cause__, MastheadError):
        return ExplainedFailure(_text(error), "", ExitCode.USAGE)
    inner = explain(error.__cause__)
    return ExplainedFailure(_text(error).partition("; ")[0], inner.hint, inner.code)


def _ends_with(code: ExitCode) -> Callable[[BaseException], ExplainedFailure]:
    return lambda error: ExplainedFailure(_text(error), "", code)


_CLIENT_SIDE: Final[tuple[tuple[type[MastheadError], Callable[[BaseException], ExplainedFailure]], ...]] = (
    # The first that fits counts, so subclasses come before their bases.
    (DeadlineError, _explain_deadline),
    (TransportError, _no_connection("check the address, and that the server runs")),
    (ConfigError, _explain_config),
    (AuthError, _no_connection("log in again, or check the user of the kubeconfig's context")),
    (UnknownKindError, _explain_unknown_kind),
    (GenerateError, _explain_generate),
    (DecodeError, _ends_with(ExitCode.FAILED)),
    (ArgumentError, _ends_with(ExitCode.USAGE)),
    (MastheadError, _ends_with(ExitCode.FAILED)),
)


def _text(error: BaseException) -> str:
    return printable(str(error)) or type(error).__name__
