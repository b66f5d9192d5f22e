"""Errors of the user's functions: their scope, their tracebacks and their messages."""

from __future__ import annotations

import asyncio
import itertools
import sysconfig
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from masthead._errors.base import counted
from masthead._module import set_module
from masthead.errors import MastheadError, PermanentError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "FailureLog",
    "RepeatedFailure",
    "describe_cause",
    "describe_error",
    "ends_caller",
    "user_frames",
    "with_user_frames",
]

_MAX_MESSAGE: Final = 1_000
"""Maximum number of characters in the message of a failure."""
_MAX_NESTED_MESSAGE: Final = 200
"""Maximum number of characters in the message of a cause, or of an error in a group."""
_MAX_GROUP_ERRORS: Final = 3
"""Maximum number of errors of a group in a message."""
_PACKAGE: Final = str(Path(__file__).parents[1])
_STANDARD_LIBRARY: Final = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_INSTALLED: Final = ("site-packages", "dist-packages")
"""Folders of installed packages, which may be inside the standard library's folder."""


@set_module("masthead.controller")
class RepeatedFailure(NamedTuple):
    """The failures of a user's function since its last success; for a reconcile, those of one object.

    Attributes:
        times: The number of failures in a row.
        message: The last error, and the line of the user's code that raised it.
        is_temporary: Whether the last error is a `TemporaryError`, which asks for a retry.
    """

    times: int = 0
    message: str = ""
    is_temporary: bool = False

    def followed_by(self, error: BaseException) -> RepeatedFailure:
        """Add a failure."""
        message = f"{type(error).__name__}: {describe_error(error)}"
        line = _user_line(error)
        located = f"{message[:_MAX_MESSAGE]}{line and f' at {line}'}"
        return RepeatedFailure(self.times + 1, located, isinstance(error, TemporaryError))

    def __str__(self) -> str:
        return f"{self.message} ({counted(self.times, 'time')})"


class FailureLog:
    """The user's functions whose last call failed."""

    def __init__(self) -> None:
        self._failures: dict[str, RepeatedFailure] = {}

    def add(self, function: str, error: BaseException) -> None:
        """Record a failure of a function."""
        self._failures[function] = self._failures.get(function, RepeatedFailure()).followed_by(error)

    def clear(self, function: str) -> None:
        """Forget the failures of a function that has succeeded."""
        self._failures.pop(function, None)

    def failing(self) -> dict[str, RepeatedFailure]:
        """Return the functions whose last call failed."""
        return dict(self._failures)


def ends_caller(error: BaseException) -> bool:
    """Whether an error of the user's function must end its caller, because the task, the loop or the process ends.

    Other errors concern only that call, even a BaseException: ``sys.exit``, ``pytest.fail``, or the cancellation of an
    awaited task.
    """
    if isinstance(error, asyncio.CancelledError):
        # Without a pending cancellation of its own task, the function awaited a cancelled one.
        task = asyncio.current_task()
        return task is not None and bool(task.cancelling())
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


def with_user_frames(error: BaseException) -> BaseException | None:
    """Reduce the tracebacks of our own errors, and of their causes, to the lines of the user's code.

    The messages of our errors describe the problem, so users need only their own line and not the internals of a
    request. The same holds for exception groups. Errors of other types lose only the lines before the user's code,
    since the others may be the only explanation.

    Returns:
        The error; None if no line remains.
    """
    links = list(_chain(error))
    # Decided by the outermost error: its message explains the chain.
    is_ours = isinstance(error, MastheadError)
    for link in links:
        if is_ours or isinstance(link, MastheadError | BaseExceptionGroup):
            link.__traceback__ = user_frames(link.__traceback__)
        else:
            link.__traceback__ = _from_user_code(link.__traceback__)
    is_traced = not is_ours or any(link.__traceback__ is not None for link in links)
    return error if is_traced else None


def user_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the part of a traceback outside of this package and the standard library."""
    frames = [frame for frame in _frames(traceback) if _is_user_code(frame.tb_frame.f_code.co_filename)]
    found: TracebackType | None = None
    for frame in reversed(frames):
        found = TracebackType(found, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return found


def _from_user_code(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first line of the user's code on, or unchanged without such a line."""
    first = traceback
    while first is not None and not _is_user_code(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    return first or traceback


def _user_line(error: BaseException) -> str:
    """Return the line of the user's code that raised an error, or the first error of a group, as ``file:line``."""
    for raised in (*itertools.islice(_errors_in(error), 1), error):
        frames = _frames(user_frames(raised.__traceback__))
        # Methods that dataclasses compile are in "<string>".
        frames = [frame for frame in frames if not frame.tb_frame.f_code.co_filename.startswith("<")]
        own = [frame for frame in frames if not _is_installed(frame.tb_frame.f_code.co_filename)]
        if found := own or frames:
            return f"{_shorten_path(found[-1].tb_frame.f_code.co_filename)}:{found[-1].tb_lineno}"
    return ""


def _frames(traceback: TracebackType | None) -> list[TracebackType]:
    found: list[TracebackType] = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _shorten_path(path: str) -> str:
    """Return a path relative to the current folder, if it is inside."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):  # outside, or the current folder was deleted
        return path


def _is_user_code(path: str) -> bool:
    if path.startswith((_PACKAGE, "<frozen ")):
        return False
    return _is_installed(path) or not path.startswith(_STANDARD_LIBRARY)


def _is_installed(path: str) -> bool:
    return any(folder in path for folder in _INSTALLED)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its causes and contexts, and the errors of groups."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop()
        # Chains of exceptions may be cyclic.
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", link).exceptions
        waiting.append(link.__cause__ or (None if link.__suppress_context__ else link.__context__))


def _errors_in(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group and its nested groups, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for nested in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _errors_in(nested)
    else:
        yield error


def describe_error(error: BaseException) -> str:
    """Describe an error, the errors of a group, and, in short, its cause."""
    message = _message_of(error)
    nested = list(_errors_in(error))
    if nested != [error]:
        named = [_describe_nested(item) for item in nested[:_MAX_GROUP_ERRORS]]
        more = len(nested) - len(named)
        message += f": {'; '.join(named)}{f'; and {more} more' if more else ''}"
    return f"{message}{describe_cause(error)}"


def describe_cause(error: BaseException) -> str:
    """Describe the cause of a user's error in parentheses; empty without one.

    The messages of our own errors include their causes.
    """
    is_users = not isinstance(error, MastheadError) or isinstance(error, PermanentError | TemporaryError)
    if error.__cause__ is None or not is_users:
        return ""
    return f" (caused by {_describe_nested(error.__cause__)})"


def _describe_nested(error: BaseException) -> str:
    message = _message_of(error)
    if len(message) > _MAX_NESTED_MESSAGE:
        message = f"{message[:_MAX_NESTED_MESSAGE]}…"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot be shown
        return f"{type(error).__name__}, whose message cannot be shown"
