"""The result of a command, and the errors of commands that failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._errors.base import printable
from masthead._module import set_module
from masthead.errors import (
    ClosedError,
    DeadlineError,
    ExecClosedError,
    ExecError,
    ExecOutputTooLargeError,
    ExecProtocolError,
    ExecTimeoutError,
    ProtocolError,
    ResponseTooLargeError,
)

if TYPE_CHECKING:
    from masthead._sansio.remotecommand import ExitStatus
    from masthead.errors import RemoteCommandError, TransportError

__all__ = ["ExecResult", "non_zero", "not_run", "unknown_end", "with_output"]

_SHOWN: Final = 500
"""How many characters of stderr a message repeats: the last ones, which mostly say why."""
_NOT_FOUND: Final = ("executable file not found", "no such file or directory")


@set_module("masthead.streams")
@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command in a container printed, and how it ended.

    Attributes:
        exit_code: The exit code.
        stdout: What it printed to stdout; with a TTY, all that it printed.
        stderr: What it printed to stderr.
    """

    exit_code: int
    stdout: bytes = field(default=b"", repr=False)
    stderr: bytes = field(default=b"", repr=False)

    @property
    def text(self) -> str:
        """Stdout as text; bytes that are not UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")

    def _repr_html_(self) -> str:
        """The result as notebooks show it: what was printed, and the exit code unless it is 0."""
        from masthead._printers.notebook import output_html

        return output_html(self.text, self.stderr.decode("utf-8", "replace"), self.exit_code)


def non_zero(about: str, result: ExecResult) -> ExecError:
    """The error for a command that failed."""
    printed = printable(result.stderr.decode("utf-8", "replace").strip())
    # The end of the output: programs print the reason of their failure last.
    said = f": {'...' if len(printed) > _SHOWN else ''}{printed[-_SHOWN:]}" if printed else ""
    return ExecError(
        f"{about}: the command ended with exit code {result.exit_code}{said}",
        exit_code=result.exit_code,
        stdout=result.stdout,
        stderr=result.stderr,
    )


def not_run(about: str, status: ExitStatus, *, has_printed: bool) -> ExecError:
    """The error for a command that the container runtime could not run, or whose end it does not know.

    Args:
        about: Names the command.
        status: The runtime's status.
        has_printed: Whether the command has printed something, so that it did run.
    """
    problem = printable(status.message) or status.reason
    # The command was running, so advice about the image would mislead.
    if has_printed:
        what = "the container runtime failed after the command had begun to print"
        advice = "it may still be running in the container; see the events of the pod"
    elif any(phrase in problem for phrase in _NOT_FOUND):
        what, advice = "the command could not be run", "check that the image has that command"
    else:
        what, advice = (
            "the container runtime could not run the command to its end",
            "see the events of the pod",
        )
    return ExecError(f"{about}: {what}: {problem}; {advice}", reason=status.reason)


def with_output(error: TransportError | ClosedError, stdout: bytes, stderr: bytes) -> RemoteCommandError:
    """The same error of a connection, with what a command had printed until then."""
    made: RemoteCommandError
    if isinstance(error, DeadlineError):
        made = ExecTimeoutError(str(error))
    elif isinstance(error, ResponseTooLargeError):
        made = ExecOutputTooLargeError(str(error))
    elif isinstance(error, ClosedError):
        made = ExecClosedError(str(error))
    else:
        made = ExecProtocolError(str(error))
    vars(made).update(vars(error), stdout=stdout, stderr=stderr)  # the request and the notes of the error
    return made


def unknown_end(about: str, why: str) -> ProtocolError:
    """The error for a connection that ended before the command did."""
    return ProtocolError(
        f"{about}: {why}, before the command had ended; it may still be running in the container, or the container has "
        "ended"
    )
