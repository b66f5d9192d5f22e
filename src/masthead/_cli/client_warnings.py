"""What the client warns of while it tries again: a lost connection, for example. Without this, it would be silent."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import explain
from masthead._errors.base import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["ClientWarnings", "telling_warnings"]

_LOGGER: Final = "masthead.client"
_EVERY: Final = 30.0
"""Minimum seconds between two warnings: many streams of one server fail at the same time, and repeatedly."""


class ClientWarnings(logging.Handler):
    """Passes warnings on, but not each of many.

    Args:
        tell: Gets the text, in one line; called in the thread of the client.
        clock: Seconds that only grow.
        every: Seconds between two warnings.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        every: float = _EVERY,
    ) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell
        self._clock = clock
        self._every = every
        self._next = -every

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a warning on, unless one was passed on shortly before."""
        now = self._clock()
        if now >= self._next:
            self._next = now + self._every
            self._tell(_text(record))


def _text(record: logging.LogRecord) -> str:
    """Why the client tries again; when and from where on is for logs."""
    given = record.args if isinstance(record.args, tuple) else ()
    error = next((argument for argument in given if isinstance(argument, Exception)), None)
    if error is not None:
        return f"reconnecting: {explain(error).line}"
    return " ".join(printable(record.getMessage()).split())


@contextmanager
def telling_warnings(
    tell: Callable[[str], None], logger_name: str = _LOGGER, *, every: float = _EVERY
) -> Generator[None]:
    """Pass warnings of the client on, as long as the block runs.

    Args:
        tell: Gets the text, in one line; called in the thread of the client.
        logger_name: Whose warnings.
        every: Seconds between two warnings; 0 to pass all of them on.
    """
    logger, handler = logging.getLogger(logger_name), ClientWarnings(tell, every=every)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
