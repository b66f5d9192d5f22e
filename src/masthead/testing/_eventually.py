"""Repeats a step of a test until it succeeds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead.errors import MastheadError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["EXPECTED_ERRORS", "EventuallyError", "Patience"]

EXPECTED_ERRORS: Final = (AssertionError, MastheadError)
"""The errors of a step after which it is repeated."""


@set_module("masthead.testing")
class EventuallyError(AssertionError):
    """A step of `Environment.eventually` still fails after its time. The cause is its last error."""


class Patience:
    """Lets work proceed between two attempts of a step, until the time is over.

    Args:
        timeout: Seconds for all attempts.
        proceed: Lets time pass until the next timer, but not more than a number of seconds, and work proceed.
        report: Describes the remaining work, after a problem.
    """

    def __init__(
        self,
        timeout: float,
        proceed: Callable[[float], Awaitable[None]],
        report: Callable[[str], Awaitable[str]],
    ) -> None:
        self._timeout = timeout
        self._proceed = proceed
        self._report = report
        self._deadline = asyncio.get_running_loop().time() + timeout
        self._attempts = 0

    async def wait(self, error: Exception) -> None:
        """Wait for the next attempt.

        Raises:
            EventuallyError: If the time is over.
            NotIdleError: If time does not pass.
        """
        self._attempts += 1
        left = self._deadline - asyncio.get_running_loop().time()
        # After an attempt, so that a timeout of 0 still allows one.
        if left <= 0:
            problem = (
                f"the step still fails after {self._timeout:g} s and {self._attempts} attempts: {_describe(error)}"
            )
            raise EventuallyError(await self._report(problem)) from error
        # Work that can be done now comes before work that waits for time.
        await self._proceed(left if self._attempts > 1 else 0.0)


def _describe(error: Exception) -> str:
    text = str(error) or repr(error)
    return text if isinstance(error, MastheadError) else f"{type(error).__name__}: {text}"
