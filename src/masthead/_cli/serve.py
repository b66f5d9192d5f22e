"""``masthead serve``: the embedded API server as a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str], *, name: str = "masthead serve") -> int:
    """Run the server until it is interrupted; return the exit code.

    Args:
        arguments: The arguments after ``serve``.
        name: The name of the command in messages.

    Raises:
        ModuleNotFoundError: If the server is not installed.
    """
    # Names the extra if the server is not installed.
    import masthead.server  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from masthead_server.command import main as serve

    return serve(arguments, name=name)
