"""Memory for request bodies, bounded for all clients together, without I/O.

A client may declare a large body and send nothing, so memory is reserved in steps while a body arrives. When it runs
out, the body that has waited longest for its current step is evicted: silent clients cannot lock out others.
"""

from __future__ import annotations

from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from masthead._endpoint.http_requests import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["BODY_STEP", "BodyMemory", "BodyReservation"]

BODY_STEP: Final = 65_536
"""Bytes that are reserved at a time. A client must send as many to count as making progress."""


class BodyReservation:
    """The reserved memory of one body.

    Attributes:
        size: The reserved bytes.
        is_evicted: Whether the memory was given to another body.
    """

    __slots__ = ("_on_evict", "is_evicted", "size")

    def __init__(self) -> None:
        self.size = 0
        self.is_evicted = False
        self._on_evict: Callable[[], None] | None = None

    def on_evict(self, stop: Callable[[], None]) -> None:
        """Set the function that stops the reader of this body."""
        self._on_evict = stop

    def evict(self) -> None:
        """Give up the memory, and stop the reader."""
        self.size = 0
        self.is_evicted = True
        if self._on_evict is not None:
            self._on_evict()


class BodyMemory:
    """Reserves memory for bodies.

    Args:
        limit: Bytes of all bodies together.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.reserved = 0
        # Ordered by the time of the last step: the first one has waited longest.
        self._arriving: dict[BodyReservation, None] = {}

    @contextmanager
    def open(self) -> Generator[BodyReservation]:
        """Reserve memory for a body during a block, until its request is handled."""
        body = BodyReservation()
        try:
            yield body
        finally:
            self._arriving.pop(body, None)
            self.reserved -= body.size

    def grow(self, body: BodyReservation, size: int) -> None:
        """Reserve memory for the next bytes of a body, at the cost of the bodies that have waited longest.

        Raises:
            RequestError: If the body was evicted, or the requests being handled use all memory.
        """
        self._arriving.pop(body, None)
        self._check(body)
        missing = self.reserved + size - self._limit
        # Evicting bodies in vain would only fail more requests.
        if missing > 0 and sum(other.size for other in self._arriving) < missing:
            raise _too_many()
        while self.reserved + size > self._limit:
            self._evict(next(iter(self._arriving)))
        body.size += size
        self.reserved += size
        self._arriving[body] = None

    def complete(self, body: BodyReservation) -> None:
        """Keep the memory of a body that has arrived: from now on, it is not evicted.

        Raises:
            RequestError: If the body was evicted.
        """
        self._arriving.pop(body, None)
        self._check(body)

    def _evict(self, body: BodyReservation) -> None:
        del self._arriving[body]
        self.reserved -= body.size
        body.evict()

    def _check(self, body: BodyReservation) -> None:
        if body.is_evicted:
            raise _too_many()


def _too_many() -> RequestError:
    return RequestError(HTTPStatus.SERVICE_UNAVAILABLE, "too many large requests at the same time")
