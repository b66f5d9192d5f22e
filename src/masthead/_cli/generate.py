"""``masthead generate``: types for a cluster's API or for CRDs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str], *, name: str = "masthead generate") -> int:
    """Generate types; return the exit code.

    Args:
        arguments: The arguments after ``generate``.
        name: The name of the command in messages.

    Raises:
        MastheadError: If the types cannot be read or generated.
        OSError: If a file cannot be written.
    """
    from masthead._codegen.command import run

    return run(arguments, name=name)
