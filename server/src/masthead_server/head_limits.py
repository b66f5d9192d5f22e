"""Limits of the heads of requests; `masthead_server.wire.body_limits` has those of their bodies.

The figures are kube-apiserver's where it has one: Go's server limits a request's head to 1 MB and 32 seconds.
The others bound the memory that all clients together can make the server use before they are authenticated.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "HEADER_COUNT_LIMIT",
    "HEADS_LIMIT",
    "HEAD_LIMIT",
    "HEAD_SECONDS",
    "Budget",
]

HEAD_LIMIT: Final = 1024 * 1024 + 4096
"""Bytes of a request's head, and of all heads that one connection has pending (Go's limit and slack)."""
HEADER_COUNT_LIMIT: Final = 1000
"""Headers of a request; each costs far more memory than its bytes."""
HEAD_SECONDS: Final = 32.0
"""Time for a head to arrive, on the server's clock."""
HEADS_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of heads that all connections together may have pending."""


class Budget:
    """A shared budget of bytes.

    Args:
        limit: The number of bytes.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether more bytes are used than the limit allows."""
        return self.used > self.limit

    def take(self, size: int) -> None:
        """Use some bytes; a negative number gives them back."""
        self.used += size
