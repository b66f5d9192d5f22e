"""Errors of logs."""

from __future__ import annotations

from masthead._errors.base import MastheadError

__all__ = ["LogStreamError"]


class LogStreamError(MastheadError):
    """One of several merged logs has ended early; the ``__cause__`` is the reason.

    Attributes:
        namespace: The pod's namespace.
        pod: The pod's name; empty for a pod that could not be decoded.
        container: The container's name.
    """

    def __init__(self, message: str, *, namespace: str = "", pod: str = "", container: str = "") -> None:
        super().__init__(message)
        self.namespace = namespace
        self.pod = pod
        self.container = container
