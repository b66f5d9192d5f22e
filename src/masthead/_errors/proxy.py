"""Errors of responses from backends of the API server's proxy."""

from __future__ import annotations

from masthead._errors.base import MastheadError

__all__ = ["ProxyResponseError"]


class ProxyResponseError(MastheadError):
    """A backend of the API server's proxy responded with an error status.

    Attributes:
        status: The HTTP status code.
        body: The body, as far as it was read.
    """

    def __init__(self, message: str, *, status: int = 0, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.body = body
