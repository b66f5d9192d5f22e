"""``masthead stubs``: the descriptions of a cluster, for editors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str], *, name: str = "masthead stubs") -> int:
    """Write or remove stubs; return the exit code.

    Args:
        arguments: The arguments after ``stubs``.
        name: The name of the command in messages.

    Raises:
        MastheadError: If the API cannot be read, or the folder has files of others.
        OSError: If a file cannot be written.
    """
    from masthead._codegen.stubs_command import run

    return run(arguments, name=name)
