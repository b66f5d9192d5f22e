"""Warnings as lines on the error output: the server's (deprecated kinds, unknown fields), and those of commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from masthead._cli.terminal import has_color, say, say_beside, style

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.warnings import ServerWarning

__all__ = ["ServerWarningPrinter", "say_warning"]

_REMEMBERED: Final = 1000
"""How many texts are remembered as printed. They may hold names of objects, so their number is unbounded."""


class ServerWarningPrinter:
    """Prints each text once: the callback of a client, which may call it in another thread.

    Args:
        no_color: Whether the option ``--no-color`` is given.
        write: Writes the line.
    """

    def __init__(self, *, no_color: bool, write: Callable[[str], None] = say_beside) -> None:
        self._no_color = no_color
        self._write = write
        self._printed: set[str] = set()

    def __call__(self, warning: ServerWarning) -> None:
        """Print a warning, unless its text was printed before."""
        if warning.text in self._printed:
            return
        if len(self._printed) == _REMEMBERED:
            self._printed.clear()
        self._printed.add(warning.text)
        self._write(_format_line(warning.text, no_color=self._no_color))


def say_warning(text: str, *, no_color: bool) -> None:
    """Print a warning of a command.

    Args:
        text: The warning, one line.
        no_color: Whether the option ``--no-color`` is given.
    """
    say(_format_line(text, no_color=no_color))


def _format_line(text: str, *, no_color: bool) -> str:
    is_colored = has_color(no_color=no_color, stream=sys.stderr)
    return f"{style('Warning:', 'yellow' if is_colored else '')} {text}"
