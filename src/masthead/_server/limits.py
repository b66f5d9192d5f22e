"""How much a client may send, and how much of it is held at a time.

The figures are kube-apiserver's where it has one: Go's server limits a request's head to 1 MB and the time it takes to
arrive to 32 seconds. The rest bounds what all clients together can make the server hold, before anybody is asked for a
token.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BODIES_LIMIT",
    "BODY_SECONDS",
    "HEADER_COUNT_LIMIT",
    "HEADS_LIMIT",
    "HEAD_LIMIT",
    "HEAD_SECONDS",
    "Budget",
]

HEAD_LIMIT: Final = 1024 * 1024 + 4096
"""Bytes of a request's head: line and headers, and of all heads that one connection has waiting (Go's limit and slack)."""
HEADER_COUNT_LIMIT: Final = 1000
"""Headers of a request; each costs far more memory than its bytes."""
HEAD_SECONDS: Final = 32.0
"""Time for a head to arrive, on the server's clock."""
HEADS_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of heads that all connections together may have waiting."""
BODY_SECONDS: Final = 60.0
"""Time for a body to arrive, on the server's clock."""
BODIES_LIMIT: Final = 128 * 1024 * 1024
"""Bytes of bodies that all requests under way may hold."""


class Budget:
    """A number of bytes that many share.

    Args:
        limit: How many there are.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether more is used than there is."""
        return self.used > self.limit

    def take(self, size: int) -> None:
        """Use some bytes, or give some back where the size is negative."""
        self.used += size
