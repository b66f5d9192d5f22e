"""Counts the memory that heads and framing take before any handler has looked at a request.

Bytes that belong neither to a body nor to a request under way count as head: request lines and headers of requests that
are incomplete or queued (pipelining). Chunk sizes, extensions and trailers count as framing of a body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.head_limits import HEAD_LIMIT

if TYPE_CHECKING:
    from masthead_server.head_limits import Budget

__all__ = ["HeadMeter"]

_FRAMING_PER_BYTE: Final = 16
"""Framing per byte of a chunked body, as in Go."""


class HeadMeter:
    """The bytes of one connection.

    Args:
        budget: The bytes of heads that all connections have pending.
    """

    __slots__ = ("_body", "_budget", "_framing", "_incomplete", "_waiting")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._incomplete = 0  # bytes of the head that is arriving
        self._waiting = 0  # bytes of heads that are complete and not handled yet
        self._framing = 0  # bytes around the chunks of the body that is arriving
        self._body = 0  # bytes of that body

    @property
    def has_begun(self) -> bool:
        """Whether a part of a head has arrived."""
        return self._incomplete > 0

    def count_heads(self, size: int) -> None:
        """At least one head is complete; bytes that came with it, except for those of bodies, count as part of it."""
        self._framing = self._body = 0
        self._hold(0, self._waiting + self._incomplete + size)

    def count_part(self, size: int) -> None:
        """A part of a head has arrived."""
        self._hold(self._incomplete + size, self._waiting)

    def count_body(self, size: int, framing: int) -> bool:
        """A part of a body has arrived, with framing around it; returns whether there is not too much framing."""
        # Chunks of a byte or two are mostly framing, which the limit on bodies does not count.
        self._body += size
        self._framing += framing
        return self._framing <= HEAD_LIMIT + _FRAMING_PER_BYTE * self._body

    def is_exceeded(self, connections: int) -> bool:
        """Tell whether the client exceeds its own limit, or its share while all clients together exceed theirs."""
        held = self._incomplete + self._waiting
        return held > HEAD_LIMIT or (self._budget.is_exceeded and held > self._budget.limit // max(1, connections))

    def release_waiting(self) -> None:
        """All complete heads are being handled."""
        self._hold(self._incomplete, 0)

    def release_all(self) -> None:
        """The connection needs nothing any more."""
        self._hold(0, 0)

    def _hold(self, incomplete: int, waiting: int) -> None:
        self._budget.take(incomplete + waiting - self._incomplete - self._waiting)
        self._incomplete = incomplete
        self._waiting = waiting
