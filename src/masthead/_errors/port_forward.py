"""The error of forwarded ports."""

from __future__ import annotations

from masthead._errors.base import MastheadError

__all__ = ["PortForwardError"]


class PortForwardError(MastheadError):
    """A port cannot be forwarded, or a forwarded connection has failed.

    Attributes:
        pod: The pod as ``namespace/name``; empty if none was found.
        port: The port of the pod; None if no single port is at fault.
    """

    def __init__(self, message: str, *, pod: str = "", port: int | None = None) -> None:
        super().__init__(message)
        self.pod = pod
        self.port = port
