"""What the user's functions raise: whether it concerns that call alone, and how it reads."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from masthead._errors.base import counted

__all__ = ["ReconcileFailure", "describe_error", "ends_caller", "raise_in_future"]

_LONGEST: Final = 1_000
"""How many characters of a message are kept."""


class ReconcileFailure(NamedTuple):
    """The failures of an object's reconciles since the last one that succeeded.

    Attributes:
        times: How many there were.
        message: What the last one has raised.
    """

    times: int = 0
    message: str = ""

    def followed_by(self, error: BaseException) -> ReconcileFailure:
        """The failures, with one more."""
        message = f"{type(error).__name__}: {describe_error(error)}"
        return ReconcileFailure(self.times + 1, message[:_LONGEST])

    def __str__(self) -> str:
        return f"{self.message} ({counted(self.times, 'time')})"


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


def describe_error(error: BaseException) -> str:
    """The message of an error; its type, if it cannot be shown."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot be shown
        return f"{type(error).__name__}, whose message cannot be shown"
