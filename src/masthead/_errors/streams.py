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
    """A command in a container failed, or its outcome is unknown. The base class of errors with the command's output.

    Attributes:
        stdout: The collected part of stdout.
        stderr: The collected part of stderr.
    """

    def __init__(self, message: str, *, stdout: bytes = b"", stderr: bytes = b"") -> None:
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr


class ExecError(RemoteCommandError):
    """A command in a container failed: with an exit code, or because the container runtime could not complete it.

    Attributes:
        exit_code: The exit code; None if the command did not run, or its outcome is unknown.
        reason: The reason for a missing exit code, such as ``InternalError``; empty for an exit code.
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
    """A command in a container exceeded its timeout, or its connection fell silent. It may still be running."""


class ExecProtocolError(RemoteCommandError, ProtocolError):
    """The connection to a command in a container was lost. The command may still be running."""


class ExecOutputTooLargeError(RemoteCommandError, ResponseTooLargeError):
    """The output of a command in a container exceeds the limit. The command may still be running."""


class ExecClosedError(RemoteCommandError, ClosedError):
    """The client was closed while a command ran in a container. The command may still be running."""
