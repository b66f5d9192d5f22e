"""The first line of the repository's generated files."""

from __future__ import annotations

from typing import Final

from masthead._codegen import render

__all__ = ["COMMAND", "first_line"]

COMMAND: Final = "make codegen"
"""The command that regenerates them."""


def first_line(title: str) -> str:
    """The docstring that a generated file begins with."""
    return render.first_line(title, COMMAND)
