"""What an error means to a reflector, and to those who read its log."""

from __future__ import annotations

from typing import Final

from masthead._sansio.listwatch import Failure
from masthead.errors import DeadlineError, StatusError

__all__ = ["failure_of", "said"]

_TOO_LARGE: Final = "too large resource version"


def failure_of(error: Exception) -> Failure:
    """What an error says that decides about the next step."""
    if not isinstance(error, StatusError):
        return Failure(silent=isinstance(error, DeadlineError))
    causes = error.details.causes if error.details is not None else []
    too_large = any(cause.reason == "ResourceVersionTooLarge" for cause in causes)
    return Failure(
        code=error.code,
        reason=error.reason,
        retry_after=error.retry_after,
        too_large=too_large or _TOO_LARGE in error.message.lower(),
    )


def said(error: Exception) -> str:
    """What happened, without advice for a caller: there is none, and what is to be done is being done."""
    text = str(error)
    return text.removesuffix(error.next_step).rstrip(" .") if isinstance(error, StatusError) else text
