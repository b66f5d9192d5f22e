"""Exceptions that leave a shell, a function, a loop or a command."""

from __future__ import annotations

__all__ = ["LoopControl", "ReturnControl", "ShellExit", "ShellFailure", "UsageError"]


class ShellExit(Exception):  # noqa: N818 - it is the command exit
    """The shell ends.

    Attributes:
        code: The exit code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ShellFailure(ShellExit):
    """The shell ends because of an error, which has been printed; an interactive shell continues."""


class ReturnControl(Exception):  # noqa: N818 - it is the command return
    """``return`` leaves a function or a sourced file.

    Attributes:
        code: The exit code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LoopControl(Exception):  # noqa: N818 - break or continue
    """``break`` or ``continue`` leaves a loop."""

    def __init__(self, levels: int, *, is_break: bool) -> None:
        super().__init__()
        self.levels = levels
        self.is_break = is_break


class UsageError(Exception):
    """A command does not understand its arguments.

    Args:
        problem: The problem, printed behind the name of the command.
        status: The exit code.
    """

    def __init__(self, problem: str, status: int = 1) -> None:
        super().__init__(problem)
        self.status = status
