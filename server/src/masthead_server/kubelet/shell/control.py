"""Exceptions that leave a shell or a loop."""

from __future__ import annotations

__all__ = ["LoopControl", "ShellExit"]


class ShellExit(Exception):  # noqa: N818 - it is the command exit
    """The shell ends.

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
