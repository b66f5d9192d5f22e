"""Reports the failures of a reflector, in its status, to the caller's error handler, or in the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead._sansio.listwatch_steps import is_worth_a_line
from masthead.errors import (
    ForbiddenError,
    MastheadError,
    NotFoundError,
    StatusError,
    TransportError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cache.reflector.status import ReflectorStatus

__all__ = ["FailureReporter", "describe_error"]

_log: Final = logging.getLogger("masthead.cache")

_NEEDS_A_PERSON: Final = (UnauthorizedError, ForbiddenError, NotFoundError)
"""Errors that a retry alone does not repair."""


class FailureReporter:
    """Counts failures in a row, and reports them.

    Args:
        label: The source's name in logs.
        status: The reflector's status.
        on_error: Called with each error, and the seconds until the next attempt; None to log it.
    """

    def __init__(
        self, label: str, status: ReflectorStatus, on_error: Callable[[Exception, float], object] | None
    ) -> None:
        self._label = label
        self._status = status
        self._on_error = on_error

    def report(self, error: Exception, now: float, after: float, *, is_watch: bool, is_routine: bool) -> None:
        """Report a failed step.

        Args:
            error: The error.
            now: The time.
            after: Seconds until the next attempt.
            is_watch: Whether a watch failed that had a state to follow.
            is_routine: Whether the log shows it for debugging only.
        """
        status = self._status
        status.error, status.error_at = f"{type(error).__name__}: {error}", now
        if self._on_error is not None:
            self._call(self._on_error, error, after)
        elif is_routine or not is_worth_a_line(status.failures, after):
            self.report_quietly(error)
        else:
            # Dropped watches are common, and resumed; a second failure in a row is not.
            is_dropped = is_watch and isinstance(error, TransportError) and status.failures <= 1
            self._log_error(error, after, logging.INFO if is_dropped else logging.WARNING)

    def report_quietly(self, error: Exception) -> None:
        """Log an error that is part of normal operation."""
        _log.debug("%s: %s", self._label, describe_error(error))

    def note_late(self, resource: str, now: float, seconds: float) -> None:
        """Record that the server has not answered a small request, so that the store may be stale."""
        status = self._status
        # Only the first repetition is logged; the status counts on.
        if not status.failures:
            status.failures = 1
            _log.info("%s: no answer for %.0f s; asking again on another connection", self._label, seconds)
        status.error = f"{resource}: the server has not answered for {seconds:.0f} s"
        status.error_at = now

    def note_recovery(self) -> None:
        """Reset the count of failures."""
        if failures := self._status.failures:
            times = "1 failure" if failures == 1 else f"{failures} failures"
            _log.info("%s: all is well again, after %s", self._label, times)
            self._status.failures = 0

    def _call(self, on_error: Callable[[Exception, float], object], error: Exception, after: float) -> None:
        try:
            on_error(error, after)
        # The caller's code must not end the reflector.
        except Exception:  # noqa: BLE001
            _log.exception("%s: the handler of errors failed", self._label)

    def _log_error(self, error: Exception, after: float, level: int) -> None:
        when = f"in {after:.1f} s" if after else "at once"
        if isinstance(error, MastheadError):
            _log.log(level, "%s: trying again %s, after this failed: %s", self._label, when, describe_error(error))
        else:
            # A defect of a source, so its traceback is needed.
            _log.error("%s: trying again %s, after this failed", self._label, when, exc_info=error)


def describe_error(error: Exception) -> str:
    """An error's message; without advice if a retry suffices."""
    text = str(error)
    if not isinstance(error, StatusError) or isinstance(error, _NEEDS_A_PERSON):
        return text
    return text.removesuffix(error.next_step).rstrip(" .")
