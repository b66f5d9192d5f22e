"""Errors of commands in containers."""

from __future__ import annotations

from masthead._errors.base import (
    ClosedError,
    DeadlineError,
    MastheadError,
    ProtocolError,
    ResponseTooLargeError,
)

__all__ = [
    "ExecClosedError",
    "ExecError",
    "ExecOutputTooLargeError",
    "ExecProtocolError",
    "ExecTimeoutError",
    "RemoteCommandError",
]


class RemoteCommandError(MastheadError):
    """A command in a container has failed, or it is not known how it ended. The base class of all that has its output.

    Attributes:
        stdout: What it had printed to stdout, as far as that was collected.
        stderr: What it had printed to stderr, as far as that was collected.
    """

    def __init__(self, message: str, *, stdout: bytes = b"", stderr: bytes = b"") -> None:
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr


class ExecError(RemoteCommandError):
    """A command in a container failed: with an exit code, or because the container runtime could not run it to its end.

    Attributes:
        exit_code: The exit code; None if the command did not run, or the runtime does not know how it ended.
        reason: Why there is none, such as ``InternalError``; empty for an exit code.
    """

    def __init__(
        self,
        message: str,
        *,
        exit_code: int | None = None,
        reason: str = "",
        stdout: bytes = b"",
        stderr: bytes = b"",
    ) -> None:
        super().__init__(message, stdout=stdout, stderr=stderr)
        self.exit_code = exit_code
        self.reason = reason


class ExecTimeoutError(RemoteCommandError, DeadlineError):
    """A command in a container did not end in time, or its connection fell silent. It may still be running there."""


class ExecProtocolError(RemoteCommandError, ProtocolError):
    """The connection to a command in a container was lost before its end. It may still be running there."""


class ExecOutputTooLargeError(RemoteCommandError, ResponseTooLargeError):
    """A command in a container printed more than was to be collected. It may still be running there."""


class ExecClosedError(RemoteCommandError, ClosedError):
    """The client was closed before a command in a container had ended. It may still be running there."""
