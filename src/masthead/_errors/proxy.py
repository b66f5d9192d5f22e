"""Errors of responses that come through the API server's proxy."""

from __future__ import annotations

from masthead._errors.base import MastheadError

__all__ = ["ProxyResponseError"]


class ProxyResponseError(MastheadError):
    """What is behind the API server's proxy has answered with an error status.

    Attributes:
        status: The HTTP status code.
        body: The body, as far as it was read.
    """

    def __init__(self, message: str, *, status: int = 0, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.body = body
