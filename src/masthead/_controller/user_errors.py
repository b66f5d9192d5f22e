"""What the user's functions raise: whether it concerns that call alone, and how it reads."""

from __future__ import annotations

import asyncio
import sysconfig
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._errors.base import counted
from masthead.errors import MastheadError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "FailureLog",
    "RepeatedFailure",
    "describe_error",
    "ends_caller",
    "raise_in_future",
    "user_frames",
    "with_user_frames",
]

_LONGEST: Final = 1_000
"""How many characters of a message are kept."""
_PACKAGE: Final = str(Path(__file__).parents[1])
_STANDARD_LIBRARY: Final = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_INSTALLED: Final = ("site-packages", "dist-packages")
"""Folders of the user's packages, which may be inside that of the standard library."""


class RepeatedFailure(NamedTuple):
    """The failures of a user's function since it last succeeded; of a reconcile, for one object.

    Attributes:
        times: The number of failures in a row.
        message: The last error.
        is_temporary: Whether the last error is a `TemporaryError`, which asks for a retry.
    """

    times: int = 0
    message: str = ""
    is_temporary: bool = False

    def followed_by(self, error: BaseException) -> RepeatedFailure:
        """Add a failure."""
        message = f"{type(error).__name__}: {describe_error(error)}"
        return RepeatedFailure(self.times + 1, message[:_LONGEST], isinstance(error, TemporaryError))

    def __str__(self) -> str:
        return f"{self.message} ({counted(self.times, 'time')})"


class FailureLog:
    """Functions of the user that fail: each until it succeeds."""

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
    """Whether what a function of the user has raised is meant for its caller: its task, the loop or the process ends.

    Everything else is the function's own affair, even if it is no `Exception`: ``sys.exit``, ``pytest.fail``, or the
    cancellation of something that it has awaited.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and bool(task.cancelling())
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


def raise_in_future(error: BaseException, what: str) -> BaseException:
    """What a future can bring from a thread to the event loop, where some exceptions mean something else.

    asyncio's futures refuse StopIteration, so that whoever waits for one would wait forever; and the loop ends with
    KeyboardInterrupt, which no signal has caused if a thread raises it.

    Args:
        error: What the function in the thread has raised.
        what: What messages call the function.
    """
    if not isinstance(error, StopIteration | KeyboardInterrupt | GeneratorExit):
        return error
    found = RuntimeError(f"the {what} raised {type(error).__name__}")
    found.__cause__ = error
    return found


def with_user_frames(error: BaseException) -> BaseException | None:
    """Reduce the tracebacks of one of our own errors, and of its causes, to the lines of the user's code.

    Our errors say what is wrong; what the user needs is the line that led to it, and not how a request is sent. Errors of
    other types keep their tracebacks, since these may be the only explanation.

    Returns:
        The error; None if no line is left.
    """
    if not isinstance(error, MastheadError):
        return error
    links = list(_chain(error))
    for link in links:
        link.__traceback__ = user_frames(link.__traceback__)
    return error if any(link.__traceback__ is not None for link in links) else None


def user_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The lines of a traceback that are neither in this package nor in the standard library."""
    frames: list[TracebackType] = []
    while traceback is not None:
        if _is_user_code(traceback.tb_frame.f_code.co_filename):
            frames.append(traceback)
        traceback = traceback.tb_next
    found: TracebackType | None = None
    for frame in reversed(frames):
        found = TracebackType(found, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return found


def _is_user_code(path: str) -> bool:
    if path.startswith((_PACKAGE, "<frozen ")):
        return False
    return any(folder in path for folder in _INSTALLED) or not path.startswith(_STANDARD_LIBRARY)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and the errors that led to it."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def describe_error(error: BaseException) -> str:
    """The message of an error; its type, if it cannot be shown."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot be shown
        return f"{type(error).__name__}, whose message cannot be shown"
