"""The deadline of a call, retries included."""

from __future__ import annotations

import asyncio

from masthead.errors import ArgumentError

__all__ = ["Deadline"]


class Deadline:
    """The deadline of a call, by the event loop's clock.

    It moves by times that do not count against the call.

    Args:
        seconds: The timeout; ``math.inf`` for no limit.

    Raises:
        ArgumentError: If the timeout is not a number.
    """

    __slots__ = ("end", "now")

    def __init__(self, seconds: float) -> None:
        self.now = asyncio.get_running_loop().time
        try:
            self.end = self.now() + seconds
        except TypeError:
            raise ArgumentError(f"timeout is {seconds!r}; it must be seconds, such as 30.0", value=seconds) from None

    def left(self) -> float:
        """Return the seconds left."""
        return self.end - self.now()
