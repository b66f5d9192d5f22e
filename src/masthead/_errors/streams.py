"""Errors of commands in containers."""

from __future__ import annotations

from masthead._errors.base import DeadlineError, MastheadError

__all__ = ["ExecError", "ExecTimeoutError"]

_SHOWN = 500
"""How many characters of what a command printed a message repeats."""


class ExecError(MastheadError):
    """A command in a container failed: with an exit code, or before it could run.

    Attributes:
        exit_code: The exit code; None if the command did not run.
        reason: Why it did not run, such as ``InternalError``; empty for an exit code.
        stdout: What it printed to stdout, as far as that was collected.
        stderr: What it printed to stderr, as far as that was collected.
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
        super().__init__(message)
        self.exit_code = exit_code
        self.reason = reason
        self.stdout = stdout
        self.stderr = stderr


class ExecTimeoutError(DeadlineError):
    """A command in a container did not end in time. It may still be running there.

    Attributes:
        stdout: What it had printed to stdout.
        stderr: What it had printed to stderr.
    """

    def __init__(self, message: str, *, stdout: bytes = b"", stderr: bytes = b"") -> None:
        super().__init__(message)
        self.stdout = stdout
        self.stderr = stderr
